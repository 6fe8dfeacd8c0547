import Glibc
import Testing

/// `moonpool import` and `export`, and the same from Lua.
@Suite struct TransferCommandTests {
    private let folder = try! TemporaryFolder()
    private var store: String { folder.path + "/zoo.moonpool" }

    @Test func `an exported store can be imported, through a pipe too`() throws {
        let rows = try folder.write(
            "id,name,age\n1,Rex,3\n2,\"Max, the second\",\n", to: "dogs.csv")
        try Tool.run(["import", store, rows, "--class", "Dog"]).expectOutput(
            "new class Dog\n2 created, 0 updated\n")
        let lines = try Tool.run(["export", store, "-", "--format", "jsonl"])
        #expect(lines.lines.count == 3)
        let copy = try folder.write(lines.output, to: "all.jsonl")
        let other = folder.path + "/copy.moonpool"
        try Tool.run(["import", other, copy]).expectSuccess()
        // Standard output is JSON Lines by default.
        try Tool.run(["export", other, "-"]).expectOutput(lines.output)
        try Tool.run([
            "export", store, "-", "--class", "Dog", "--where", "age > 2", "--format", "csv",
        ]).expectOutput("id,name,age\r\n1,Rex,3\r\n")
    }

    private static let mistakes = [
        (["export", "/nonexistent.moonpool", "-", "--format", "json"], "there is no store"),
        (["export", "STORE", "x.parquet"], "is not a known format"),
        (["export", "STORE", "-", "--format", "jsn"], "did you mean 'json'?"),
        (
            ["export", "STORE", "-", "--format", "json", "--where", "a > 1"],
            "--where needs --class"
        ),
        (["export", "STORE", "-", "--format", "csv", "--class", "Dgo"], "Dgo"),
        (["import", "STORE", "/nonexistent.csv", "--class", "Dog"], "No such file"),
        (["import", "STORE", "/dev/null", "--format", "csv"], "add --class NAME"),
        (
            ["import", "STORE", "STORE", "--format", "jsonl", "--class", "Dog"],
            "the file is a store"
        ),
        (
            ["import", "STORE", "-", "--format", "jsonl", "--map", "x"],
            "--map: expected field=property"
        ),
        (["import", "STORE", "-", "--format", "jsonl", "--batch", "0"], "at least one row"),
        (["export", "STORE", "-", "--key", "x"], "--key has no effect on 'STORE', which is not"),
        (["check", "STORE", "--rescue"], "--rescue has no effect on 'STORE', which is not"),
        (["stats", "STORE", "--key", "x"], "--key has no effect on 'STORE', which is not"),
        (
            ["schema", "STORE", "--dotnet-guids"],
            "--dotnet-guids has no effect on 'STORE', which is not"
        ),
    ]

    @Test func `an error is one line with the solution, and exit code 1`() throws {
        let rows = try folder.write("id\n1\n", to: "dogs.csv")
        try Tool.run(["import", store, rows, "--class", "Dog"]).expectSuccess()
        for (words, expected) in Self.mistakes {
            let outcome = try Tool.run(words.map { $0 == "STORE" ? store : $0 }, in: folder.path)
                .expectError(expected.replacing("STORE", with: store))
            #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
        }
    }

    @Test(arguments: ["csv", "jsonl", "json", "lua"])
    func `a copy of a pipe that cannot be kept is an error, and leaves no store`(
        format: String
    ) throws {
        let row = [
            "csv": "%d,x", "jsonl": "{\"id\":%d}", "json": "{\"id\":%d},", "lua": "T{id=%d}",
        ]
        let (head, tail) =
            ["csv": ("id,n", ""), "json": ("[", "{\"id\":0}]")][format] ?? ("", "")
        let rows = (1...150_000).map {
            row[format]?.replacing("%d", with: "\($0)") ?? ""
        }
        let file = try folder.write(
            ([head] + rows + [tail]).filter { !$0.isEmpty }.joined(separator: "\n"), to: "in")
        let arguments = "import new.moonpool - --format \(format) --class T"
        for (setting, reason) in [
            ("ulimit -f 1500", "File too large"),
            ("TMPDIR=/nonexistent; export TMPDIR", "No such file"),
        ] {
            let script = "cat \(file) | (\(setting); exec \"$0\" \(arguments))"
            let outcome = try Subprocess("/bin/sh", ["-c", script, Tool.path], in: folder.path)
                .finish().expectExit(1)
            #expect(
                outcome.error.hasPrefix(
                    "moonpool: cannot keep the input in a temporary file: \(reason)"),
                "\(outcome.error)")
            #expect(outcome.output == "")
            #expect(access(folder.path + "/new.moonpool", F_OK) != 0)
        }
    }

    @Test(arguments: ["rows.csv", "rows.jsonl", "rows"])
    func `a named pipe is imported without a format`(name: String) throws {
        let pipe = folder.path + "/" + name
        guard mkfifo(pipe, 0o600) == 0 else { throw SystemFailure("mkfifo") }
        let process = try Subprocess(
            Tool.path, ["import", folder.path + "/a.moonpool", pipe, "--class", "T"])
        // Opening the pipe waits for the reader.
        let descriptor = open(pipe, O_WRONLY)
        let text = name == "rows.csv" ? "id\n1\n2\n" : "{\"id\":1}\n{\"id\":2}\n"
        let bytes = Array(text.utf8)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
        try process.finish().expectOutput("new class T\n2 created, 0 updated\n")
    }

    @Test func `an export chooses columns, order and a number of objects`() throws {
        let rows = try folder.write("id,name,age\n1,Rex,3\n2,Max,5\n3,Pup,5\n", to: "dogs.csv")
        try Tool.run(["import", store, rows, "--class", "Dog"]).expectSuccess()
        try Tool.run([
            "export", store, "-", "--class", "Dog", "--format", "csv", "--columns", "name=who,age",
            "--order", "age desc, name", "--limit", "2",
        ]).expectOutput("who,age\r\nMax,5\r\nPup,5\r\n")
        for (option, value) in [("--order", "age"), ("--limit", "1"), ("--where", "age > 1")] {
            let outcome = try Tool.run(["export", store, "-", option, value])
            #expect(outcome.error == "moonpool: \(option) needs --class\n")
        }
        let wrong = try Tool.run(["export", store, "-", "--class", "Dog", "--order", "age down"])
        #expect(wrong.error.contains("--order: expected path or path desc, got 'age down'"))
    }

    @Test func `scripts encode, decode, export and import`() throws {
        try Tool.run(
            script: """
                local json = moonpool.json
                print(json.encode { 1, 2.5, "x", { a = true, b = moonpool.null } })
                local back = json.decode '{"list": [1, null, {"k": "v"}], "big": 9007199254740993}'
                print(back.list[1], back.list[2] == moonpool.null, back.list[3].k, back.big)
                print(pcall(json.decode, "{oops"))
                print(pcall(json.encode, { f = print }))
                local store = moonpool.open { in_memory = "t", schema = { Dog = { id = "int primary", name = "string" } } }
                store:write(function() store:create("Dog", { id = 1, name = "Rex" }) end)
                print(json.encode(store:objects "Dog"), json.encode(store:object("Dog", 1)))
                print(store:objects("Dog"):export "dogs.csv")
                store:write(function() store:delete_all() end)
                local report = store:import("dogs.csv", { class = "Dog" })
                print(report.created, store:object("Dog", 1).name)
                moonpool.csv.write("out.csv", { { a = 1, b = "x,y" }, { a = 2 } })
                local rows, names = moonpool.csv.read "out.csv"
                print(#rows, rows[1].b, rows[2].b, table.concat(names, " "))
                moonpool.csv.write("out.csv", { { a = moonpool.null }, { b = true } })
                print((io.open("out.csv"):read "a":gsub("\\r\\n", ";")))
                for _, row in ipairs { { 1, 2 }, { a = {} }, { a = print }, { a = "\\xff" } } do
                    print(pcall(moonpool.csv.write, "out.csv", { { a = 1 }, row }))
                end
                local function read(text)
                    local file <close> = io.open("in.csv", "w")
                    file:write(text):flush()
                    print(pcall(moonpool.csv.read, "in.csv"))
                end
                read "a\\n1,2\\n" read "a\\n\\xff\\n"
                print(pcall(store.import, store, "dogs.csv", { clas = "Dog" }))
                """
        ).expectOutput(
            """
            [1,2.5,"x",{"a":true,"b":null}]
            1\ttrue\tv\t9007199254740993
            false\tline 1, column 2: not JSON: expected a name in quotes
            false\tJSON cannot represent a function (at .f)
            [{"id":1,"name":"Rex"}]\t{"id":1,"name":"Rex"}
            1
            1\tRex
            2\tx,y\tnil\ta b
            a,b;,;,true;
            false\trow 2 is an array; the fields of a row are named, as in { name = "ball", price = 3 }
            false\trow 2: 'a' is a table; a field of CSV is text, a number, a boolean or a date
            false\trow 2: 'a' is a function; a field of CSV is text, a number, a boolean or a date
            false\trow 2: 'a' contains bytes that are not UTF-8; encode them in base64 or hexadecimal
            false\tin.csv, line 2: the record has 2 fields, the header names 1
            false\tin.csv, line 2, column 1: 'a' holds bytes that are not UTF-8; add the file's encoding, such as --encoding windows-1252 (in Lua, encoding = …)
            false\tbad argument #2 to 'import' (unknown option 'clas'; did you mean 'class'?)

            """)
    }

    @Test func `a dry run shows the inferred types, and creates nothing`() throws {
        let rows = try folder.write(
            "id,name,since\n1,Rex,2026-11-20T10:00:00Z\n2,,\n", to: "dogs.csv")
        let outcome = try Tool.run(["import", store, rows, "--class", "Dog", "--dry-run"])
        #expect(
            outcome.output == """
                new class Dog
                  id     int primary
                  name   string?
                  since  date?
                2 created, 0 updated (dry run: nothing committed)

                """, "\(outcome.error)")
        #expect(TemporaryFolder.names(in: folder.path) == ["dogs.csv"])
    }

    @Test func `SQLite and Lua source preserve a store`() throws {
        let script = try folder.write(
            """
            local store = moonpool.open { path = arg[1], schema = {
              Dog = { id = "int primary", name = "string", friends = "Dog[]", owner = "Person" },
              Person = { name = "string primary", born = "date?" },
            } }
            store:write(function()
              local ann = store:create("Person", { name = "Ann", born = moonpool.date "2000-01-02" })
              local rex = store:create("Dog", { id = 1, name = "Rex", owner = ann })
              store:create("Dog", { id = 2, name = "Max \\" \\n", friends = { rex, rex } })
            end)
            print(store:objects("Dog"):export("dogs.db", { format = "sqlite", dates = "seconds" }))
            local copy = moonpool.open { in_memory = "copy" }
            local report = copy:import("dogs.db", { class = { Dog = "Hound" } })
            print(report.created, report.new_classes[1], report.schema.Hound.id)
            print(pcall(copy.import, copy, "dogs.db", { class = { "Cat" } }))
            """, to: "zoo.lua")
        try Tool.run([script, store], in: folder.path).expectOutput(
            "2\n2\tHound\tint primary\nfalse\tthere is no table 'Cat'; it has 'Dog'\n")
        let lines = try Tool.run(["export", store, "-", "--format", "jsonl"]).output
        #expect(lines.split(separator: "\n").count == 4)
        for name in ["zoo.sqlite", "data.lua"] {
            let file = folder.path + "/" + name
            try Tool.run(["export", store, file]).expectOutput("3 objects → \(file)\n")
            let copy = file + ".moonpool"
            try Tool.run(["import", copy, file]).expectOutput(
                "new class Dog\nnew class Person\n3 created, 0 updated\n")
            #expect(try Tool.run(["export", copy, "-", "--format", "jsonl"]).output == lines)
        }
        // Any Lua interpreter can read it.
        try Tool.lua(
            "local d = dofile(arg[1]) print(#d.Dog, d.Dog[2].friends[1], d.schema.Person.name)",
            folder.path + "/data.lua"
        ).expectOutput("2\t1\tstring primary\n")
    }

    @Test func `the nightly job reports its outcome by exit code`() throws {
        let good = try folder.write("id,station,day,celsius\na,Bern,2026-11-20,1\n", to: "good.csv")
        let bad = try folder.write("id,station,day,celsius\nb,Bern,soon,1\n", to: "bad.csv")
        let cases = [(good, Int32(0)), (bad, 1), (folder.path + "/none.csv", 2), (good, 0)]
        for (inbox, code) in cases {
            let outcome = try Tool.run(
                [Tool.root + "/examples/nightly.lua", "weather.moonpool", inbox, folder.path],
                in: folder.path)
            #expect(outcome.exitCode == code, "\(outcome.output)\(outcome.error)")
        }
        #expect(try contents(of: folder.path + "/report.csv").contains("Bern,1,1"))
    }
}
