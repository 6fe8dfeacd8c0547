import Testing

/// `moonpool import` with its parsing options, and rows in Lua.
@Suite struct ImportCommandTests {
    private let folder = try! TemporaryFolder()

    private func types(_ store: String) throws -> String {
        let lines = try Tool.run(["export", store, "-"]).lines
        return lines.first ?? ""
    }

    @Test func `standard input creates a new class, in every text format`() throws {
        let inputs = [
            ("csv", "id,v\n1,00601\n"), ("tsv", "id\tv\n1\t00601\n"),
            ("jsonl", "{\"id\":1,\"v\":\"00601\"}\n"), ("json", "[{\"id\":1,\"v\":\"00601\"}]"),
            ("lua", "T {id = 1, v = \"00601\"}"),
        ]
        for (format, text) in inputs {
            let store = folder.path + "/\(format).moonpool"
            try Tool.run(
                ["import", store, "-", "--format", format, "--class", "T"], input: text
            ).expectOutput("new class T\n1 created, 0 updated\n")
            #expect(
                try types(store) == #"{"$schema":{"T":{"id":"int primary","v":"string"}}}"#,
                "\(format)")
        }
        // An export contains the names of its classes.
        let all = try Tool.run(["export", folder.path + "/csv.moonpool", "-"]).output
        let copy = folder.path + "/copy.moonpool"
        try Tool.run(["import", copy, "-"], input: all).expectSuccess()
        #expect(try Tool.run(["export", copy, "-"]).output == all)
    }

    @Test func `compressed files are imported, and damaged ones are refused`() throws {
        // gzip of "id,v\n1,x\n", and the same with its checksum changed.
        let gzip: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x4C, 0xD1, 0x29, 0xE3, 0x32, 0xD4, 0xA9,
            0xE0, 2, 0,
        ]
        let script = try folder.write(
            """
            local bytes = {\(gzip.map { "\($0)" }.joined(separator: ","))}
            local text = "id,v\\n1,x\\n"
            local crc = 0xFFFFFFFF
            for i = 1, #text do
              crc = crc ~ text:byte(i)
              for _ = 1, 8 do crc = (crc >> 1) ~ (0xEDB88320 & -(crc & 1)) end
            end
            crc = ~crc & 0xFFFFFFFF
            local head = string.char(table.unpack(bytes))
            local function write(name, bytes) local f <close> = io.open(name, "wb") f:write(bytes) end
            write("good.csv.gz", head .. string.pack("<I4I4", crc, #text))
            write("bad.csv.gz", head .. string.pack("<I4I4", crc ~ 1, #text))
            write("short.csv.gz", head:sub(1, 15))
            """, to: "make.lua")
        try Tool.run([script], in: folder.path).expectSuccess()
        for (name, isGood) in [("good", true), ("bad", false), ("short", false)] {
            let store = "\(folder.path)/\(name).moonpool"
            let outcome = try Tool.run(
                ["import", store, "\(folder.path)/\(name).csv.gz", "--class", "T"])
            #expect(
                outcome.exitCode == (isGood ? 0 : 1), "\(name): \(outcome.output)\(outcome.error)")
            if !isGood { #expect(outcome.error.contains("\(name).csv.gz")) }
        }
        #expect(
            TemporaryFolder.names(in: folder.path).filter { $0.hasSuffix(".moonpool") }
                == ["good.moonpool"])
    }

    @Test func `a binary file under another name is named`() throws {
        let script = """
            local made <close> = moonpool.open { path = "a.moonpool", schema = { T = { v = "int" } } }
            made:write(function() made:create("T", { v = 1 }) end)
            local function write(name, bytes) local f <close> = io.open(name, "wb") f:write(bytes) end
            write("key", ("k"):rep(32))
            made:export "a.sqlite"
            write("a.realm", ("\\0"):rep(16) .. "T-DB\\9\\9\\0\\0")
            write("a.xz", "\\xFD7zXZ\\0" .. ("\\1"):rep(30))
            write("a.bz2", "BZh91AY&SY" .. ("\\1"):rep(30))
            write("a.zip", "PK\\3\\4" .. ("\\1"):rep(30))
            """
        try Tool.run(["-e", script], in: folder.path).expectSuccess()
        let export = ["export", "a.moonpool", "a.enc", "--format", "jsonl", "--key-file", "key"]
        try Tool.run(export, in: folder.path).expectSuccess()
        let kinds = [
            "moonpool": "is a store; export its objects", "sqlite": "is a SQLite database",
            "realm": "is a Realm file", "enc": "is an encrypted copy; decrypt it first",
            "xz": "is compressed with xz", "bz2": "is compressed with bzip2",
            "zip": "is a ZIP archive",
        ]
        for (ending, said) in kinds {
            for format in ["jsonl", "csv", "lua", "sqlite", "realm"]
            where format != ending {
                let outcome = try Tool.run(
                    ["import", "b.moonpool", "a.\(ending)", "--format", format, "--class", "T"],
                    in: folder.path
                ).expectError("a.\(ending)")
                #expect(outcome.error.contains(said), "\(format): \(outcome.error)")
            }
        }
    }

    @Test(arguments: [
        ("a.csv", "id,v\n1,2\nx\n"), ("a.jsonl", "{\"v\":1}\n{\"v\":"), ("a.json", ""),
        ("a.json", "[{},"),
        ("a.csv", ""), ("a.lua", "os.exit()"), ("a.sqlite", "hello"),
        ("a.csv", "a,b\n1,\u{7F}\n2\n"),
    ])
    func `a failed import leaves no file`(name: String, text: String) throws {
        let file = try folder.write(text, to: name)
        try Tool.run(["import", folder.path + "/new.moonpool", file, "--class", "T"]).expectError(
            name)
        #expect(TemporaryFolder.names(in: folder.path) == [name])
    }

    @Test func `the report is printed as JSON on request`() throws {
        let file = try folder.write("id,v\n1,0.1234567890123456789\n2,x\n3,0.5\n", to: "a.csv")
        let outcome = try Tool.run([
            "import", folder.path + "/new.moonpool", file, "--class", "T", "--types", "v=double",
            "--round",
            "--skip-bad", folder.path + "/bad.csv", "--json",
        ])
        #expect(
            outcome.output
                == #"{"rows":3,"created":2,"updated":0,"rejected":1,"changed":1,"dry_run":false,"reasons":["#
                + #""line 3, column 2: 'T.v' expects double, got \"x\""],"new_classes":["T"],"#
                + #""schema":{"T":{"id":"int primary","v":"double"}},"notes":[]}"# + "\n",
            "\(outcome.error)")
        #expect(try contents(of: folder.path + "/bad.csv") == "id,v\n2,x\n")
        let reasons = try contents(of: folder.path + "/bad.csv.reasons.jsonl")
        #expect(reasons.contains("\"line\":3,\"column\":2"))
    }

    @Test(arguments: [
        (["--separator", ";;"], "--separator must be one ASCII character"),
        (["--types", "v"], "--types: expected name=type"),
        (["--types", "v=itn"], "did you mean 'int'?"),
        (["--types", "w=int"], "which is not in the file"),
        (["--quote", "é"], "--quote must be one ASCII character"),
        (["--sample", "0"], "at least one row"),
        (["--skip-lines=-1"], "cannot be negative"),
        (["--link", "v"], "--link: expected field=Class"),
        (["--format", "geojsn"], "did you mean 'geojson'?"),
    ])
    func `invalid options are refused by name`(words: [String], expected: String) throws {
        let file = try folder.write("id,v\n1,2\n", to: "a.csv")
        let store = folder.path + "/new.moonpool"
        try Tool.run(["import", store, file, "--class", "T"] + words).expectError(expected)
        #expect(TemporaryFolder.names(in: folder.path) == ["a.csv"])
    }

    @Test func `an export has the requested separator`() throws {
        let file = try folder.write("id,v\n1,\"a;b\"\n2,\n", to: "a.csv")
        let store = folder.path + "/new.moonpool"
        _ = try Tool.run(["import", store, file, "--class", "T"])
        try Tool.run([
            "export", store, "-", "--format", "csv", "--class", "T", "--separator", ";",
        ]).expectOutput("id;v\r\n1;\"a;b\"\r\n2;\r\n")
        try Tool.run(["export", store, "-", "--format", "tsv", "--class", "T"]).expectOutput(
            "id\tv\r\n1\ta;b\r\n2\t\r\n")
    }

    @Test func `scripts iterate over rows, and import with the same options`() throws {
        try Tool.run(
            script: """
                local function write(name, text) local f <close> = io.open(name, "wb") f:write(text) end
                write("a.tsv", "a\\tb\\n1\\t\\n2\\t\\"x\\ty\\"\\n")
                for row in moonpool.csv.rows("a.tsv", { types = { a = "int" } }) do print(math.type(row.a), row.b) end
                write("b.csv", "# made by x\\na;b\\n1;NA\\n-;'y;z'\\n")
                local dialect = { separator = ";", quote = "'", null = { "NA", "-" }, skip_lines = 1 }
                for row in moonpool.csv.rows("b.csv", dialect) do print(row.a, row.b) end
                local rows, names = moonpool.csv.read("b.csv", dialect)
                print(#rows, table.concat(names, "|"))
                write("c.jsonl", '{"a":18446744073709551615}\\n[1,{}]\\n{"a":1e400}\\n')
                for row in moonpool.json.rows "c.jsonl" do print(moonpool.json.encode(row)) end
                write("d.json", '{"x":{"y":[{"a":1},{"a":[]}]}}')
                for row in moonpool.json.rows("d.json", { records = "x.y" }) do print(moonpool.json.encode(row)) end
                print(moonpool.json.decode "{}" == moonpool.json.empty_object, moonpool.json.decode "[]" == moonpool.json.empty_object)
                print(select(2, pcall(function() moonpool.json.empty_object.x = 1 end)).message)
                print(pcall(moonpool.json.decode, '{"a":\\n 123456789012345678901234567890123456789012345}'))
                local store = moonpool.open { in_memory = "rows" }
                dialect.class, dialect.types = "T", { a = "decimal?" }
                local report = store:import("b.csv", dialect)
                print(report.rows, report.created, report.changed, report.schema.T.a, store:objects("T")[1].a)
                for _, options in ipairs { { types = 5 }, { types = { a = 5 } }, { separator = ";;" }, { skip_lines = -1 }, { sample = 0 }, { records = {} } } do
                  options.class = "T"
                  print(select(2, pcall(store.import, store, "b.csv", options)))
                end
                print(pcall(moonpool.csv.rows, "none.csv"))
                write("e.csv", "a\\n1\\n1,2\\n3\\n")
                local next = moonpool.csv.rows "e.csv"
                print(next().a, select(2, pcall(next)))
                print(next())
                """
        ).expectOutput(
            """
            integer\tnil
            integer\tx\ty
            1\tnil
            nil\ty;z
            2\ta|b
            {"a":18446744073709551615}
            [1,{}]
            {"a":1E+400}
            {"a":1}
            {"a":[]}
            true\tfalse
            moonpool.json.empty_object cannot be changed; create a new table
            false\tline 2, column 2: no numeric type can represent 123456789012345678901234567890123456789012345 exactly
            2\t2\t0\tdecimal?\t1
            'types' must be a table of strings by name, got 5
            'types.a' must be a string, got 5
            'separator' must be one ASCII character, got ";;"
            'skip_lines' must be an integer of at least 0, got -1
            'sample' must be a positive integer, got 0
            'records' must be a string, got table
            false\tcannot read none.csv: No such file or directory
            1\te.csv, line 3: the record has 2 fields, the header names 1
            nil

            """)
    }
}
