import Testing

/// `moonpool import` and `export`, and the same from Lua.
@Suite struct TransferCommandTests {
    @Test func `a store goes out and comes back, through a pipe too`() throws {
        let folder = try TemporaryFolder()
        let rows = try folder.write(
            "id,name,age\n1,Rex,3\n2,\"Max, the second\",\n", to: "dogs.csv")
        let store = folder.path + "/zoo.moonpool"
        let taken = try Tool.run(["import", store, rows, "--class", "Dog"])
        #expect(taken.output == "new class Dog\n2 created, 0 updated\n", "\(taken.error)")
        let lines = try Tool.run(["export", store, "-", "--format", "jsonl"])
        #expect(lines.lines.count == 3)
        let copy = try folder.write(lines.output, to: "all.jsonl")
        let other = folder.path + "/copy.moonpool"
        #expect(try Tool.run(["import", other, copy]).exitCode == 0)
        let again = try Tool.run(["export", other, "-", "--format", "jsonl"])
        #expect(again.output == lines.output)
        let some = try Tool.run([
            "export", store, "-", "--class", "Dog", "--where", "age > 2", "--format", "csv",
        ])
        #expect(some.output == "id,name,age\r\n1,Rex,3\r\n")
    }

    @Test(arguments: [
        (["export", "/nonexistent.moonpool", "-", "--format", "json"], "there is no store"),
        (["export", "STORE", "x.parquet"], "names no format"),
        (["export", "STORE", "-", "--format", "jsn"], "did you mean 'json'?"),
        (
            ["export", "STORE", "-", "--format", "json", "--where", "a > 1"],
            "--where needs --class"
        ),
        (["export", "STORE", "-", "--format", "csv", "--class", "Dgo"], "Dgo"),
        (["import", "STORE", "/nonexistent.csv", "--class", "Dog"], "No such file"),
        (["import", "STORE", "/dev/null", "--format", "csv"], "say which"),
        (["import", "STORE", "STORE", "--format", "jsonl", "--class", "Dog"], "line 1"),
        (
            ["import", "STORE", "-", "--format", "jsonl", "--map", "x"],
            "--map takes field=property"
        ),
        (["import", "STORE", "-", "--format", "jsonl", "--batch", "0"], "at least one row"),
    ])
    func `a failure is one line that says what to do, and exit code 1`(
        words: [String], expected: String
    ) throws {
        let folder = try TemporaryFolder()
        let store = folder.path + "/zoo.moonpool"
        let rows = try folder.write("id\n1\n", to: "dogs.csv")
        #expect(try Tool.run(["import", store, rows, "--class", "Dog"]).exitCode == 0)
        let outcome = try Tool.run(words.map { $0 == "STORE" ? store : $0 }, in: folder.path)
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains(expected), "\(outcome.error)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
    }

    @Test func `rows that are bad are left out on request, and the rest is taken`() throws {
        let folder = try TemporaryFolder()
        let rows = try folder.write("id,age\n1,3\nx,4\n3,5\n", to: "dogs.csv")
        let store = folder.path + "/zoo.moonpool"
        let good = try folder.write("id,age\n9,9\n", to: "first.csv")
        _ = try Tool.run(["import", store, good, "--class", "Dog"])
        let rejects = folder.path + "/rejects.jsonl"
        let outcome = try Tool.run([
            "import", store, rows, "--class", "Dog", "--skip-bad", rejects,
        ])
        #expect(outcome.output.contains("2 created, 0 updated, 1 left out"))
        #expect(try contents(of: rejects).contains("\"line\":3"))
    }

    @Test func `scripts encode, decode, export and import`() throws {
        let outcome = try Tool.run(
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
                print(pcall(store.import, store, "dogs.csv", { clas = "Dog" }))
                """)
        #expect(
            outcome.output == """
                [1,2.5,"x",{"a":true,"b":null}]
                1\ttrue\tv\t9007199254740993
                false\tline 1: not JSON: invalid char in json text
                false\tJSON cannot hold a function (at .f)
                [{"id":1,"name":"Rex"}]\t{"id":1,"name":"Rex"}
                1
                1\tRex
                2\tx,y\tnil\ta b
                false\tbad argument #2 to 'import' (unknown option 'clas'; did you mean 'class'?)

                """, "\(outcome.error)")
    }
}
