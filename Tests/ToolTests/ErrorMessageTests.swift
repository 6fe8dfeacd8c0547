import Testing

/// Every error that a script can cause has a code, and a message with the cause, the location and the solution.
@Suite struct ErrorMessageTests {
    struct Case: Sendable, CustomStringConvertible {
        let code: String
        /// The texts that the message must contain.
        let says: [String]
        let script: String

        init(_ code: String, _ says: String..., by script: String) {
            self.code = code
            self.says = says
            self.script = script
        }

        var description: String { "\(code): \(script)" }
    }

    /// The beginning of every case.
    static let beginning = """
        local store = moonpool.open { in_memory = "errors", schema = {
          Dog = { id = "int primary", name = "string", age = "int?", owner = "Person", toys = "int[]" },
          Person = { name = "string primary" },
        } }
        local rex = store:write(function()
          return store:create("Dog", { id = 1, name = "Rex", toys = { 1, 2 } })
        end)
        local function write(fn) return store:write(fn) end

        """

    /// Runs the case, and prints the code and message of the error and whether the store is still usable.
    static func run(_ script: String) throws -> Tool.Outcome {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            beginning + "local ok, err = pcall(function()\n" + script + """

                end)
                print(not ok and err.code or "no error")
                print(not ok and err.message or "")
                """, to: "case.lua")
        return try Tool.run([path], in: folder.path)
    }

    static let cases = [
        Case("not_in_write", "write", by: "rex.age = 3"),
        Case("not_in_write", "write", by: "store:create('Dog', { id = 2, name = 'Max' })"),
        Case("not_in_write", "write", by: "store:delete(rex)"),
        Case("not_in_write", "write", by: "rex.toys:append(3)"),
        Case("not_in_write", "commit", by: "store:commit_write()"),
        Case("already_in_write", "write", by: "write(function() store:begin_write() end)"),
        Case(
            "already_in_write", "observ",
            by: "write(function() store:objects('Dog'):observe(print) end)"),
        Case(
            "duplicate_key", "Dog", "1",
            by: "write(function() store:create('Dog', { id = 1, name = 'Max' }) end)"),
        Case(
            "missing_value", "Dog", "name",
            by: "write(function() store:create('Dog', { id = 2 }) end)"),
        Case("missing_value", "name", by: "write(function() rex.name = nil end)"),
        Case(
            "type_mismatch", "Dog", "age", "int", "string",
            by: "write(function() rex.age = 'old' end)"),
        Case("type_mismatch", "toys", "int", by: "write(function() rex.toys:append('x') end)"),
        Case("type_mismatch", "owner", "Person", by: "write(function() rex.owner = rex end)"),
        Case("unknown_class", "Dgo", "Dog", by: "store:objects('Dgo')"),
        Case("unknown_property", "Dog", "aeg", "age", by: "return rex.aeg"),
        Case("unknown_property", "nmae", "name", by: "write(function() rex.nmae = 'x' end)"),
        Case(
            "unknown_property", "hue",
            by: "write(function() store:create('Dog', { id = 2, name = 'x', hue = 1 }) end)"),
        Case(
            "invalid_object", "Dog", "deleted",
            by: "write(function() store:delete(rex) end) return rex.name"),
        Case("invalid_argument", "id", by: "write(function() rex.id = 2 end)"),
        Case("invalid_argument", by: "store:objects('Dog'):limit('x')"),
        Case("out_of_range", by: "write(function() rex.toys[9] = 1 end)"),
        Case("out_of_range", by: "write(function() rex.toys:remove(3) end)"),
        Case("frozen", "frozen", by: "local f = rex:freeze() write(function() f.age = 1 end)"),
        Case("unknown_property", "aeg", "^", "age", by: "store:objects('Dog'):where('aeg > 1')"),
        Case("invalid_query", "^", by: "store:objects('Dog'):where('age >')"),
        Case("invalid_query", "$2", by: "store:objects('Dog'):where('age > $2', 1)"),
        Case("invalid_query", "age", "string", by: "store:objects('Dog'):where(\"age > 'x'\")"),
        Case("unknown_property", "foo", by: "store:objects('Dog'):sorted('foo')"),
        Case(
            "invalid_schema", "Cat", "name", "strng", "string",
            by: "store:define { Cat = { name = 'strng' } }"),
        Case(
            "invalid_schema", "Cat", "owner", "Persn",
            by: "store:define { Cat = { owner = 'Persn' } }"),
        Case(
            "invalid_schema", "Cat", "primary",
            by: "store:define { Cat = { name = 'bool primary' } }"),
        Case("closed", "closed", by: "store:close() return rex.name"),
        Case("closed", "closed", by: "store:close() store:objects('Dog')"),
        Case(
            "invalid_argument", "migration has ended", "the migration function",
            by: """
                local path, kept = "migrated.moonpool"
                moonpool.open({ path = path, schema = { Dog = { id = "int" } } }):close()
                moonpool.open { path = path, schema = { Dog = { key = "int" } }, schema_version = 1,
                  migration = function(m) kept = m end }
                kept:delete_class "Dog"
                """),
        Case(
            "migration_needed", "Dog", "age",
            by: """
                local path = "changed.moonpool"
                moonpool.open { path = path, schema = { Dog = { age = "int" } } }:close()
                moonpool.open { path = path, schema = { Dog = { age = "string" } } }
                """),
        Case(
            "version_too_low", "2", "1",
            by: """
                local path = "newer.moonpool"
                local schema = { Dog = { age = "int" } }
                moonpool.open { path = path, schema = schema, schema_version = 2 }:close()
                moonpool.open { path = path, schema = schema, schema_version = 1 }
                """),
        Case(
            "read_only", "read",
            by: """
                local path = "read.moonpool"
                moonpool.open { path = path, schema = { Dog = { age = "int" } } }:close()
                local reader = moonpool.open { path = path, read_only = true }
                reader:write(function() end)
                """),
        Case("file_corrupt", "'.'", "is a folder", "not a store", by: "moonpool.open '.'"),
        Case(
            "file_corrupt", "text.moonpool",
            by: """
                local file = io.open("text.moonpool", "w")
                file:write(("this is not a store\\n"):rep(1000))
                file:close()
                moonpool.open "text.moonpool"
                """),
        Case(
            "invalid_argument", "missing/folder",
            by: "moonpool.open { path = 'missing/folder/x.moonpool', schema = {} }"),
    ]

    @Test(arguments: cases)
    func `an error has its code and a complete message`(example: Case) throws {
        let outcome = try Self.run(example.script)
        #expect(outcome.exitCode == 0, "\(outcome.error)")
        let lines = outcome.output.split(separator: "\n", maxSplits: 1)
        #expect(lines.first.map(String.init) == example.code, "\(outcome.output)")
        let message = lines.dropFirst().first ?? ""
        for word in example.says { #expect(message.contains(word), "\(message)") }
    }

    @Test func `a truncated file is refused with its name`() throws {
        let folder = try TemporaryFolder()
        let filling = """
            local store = moonpool.open { path = "cut.moonpool", schema = { Dog = { name = "string" } } }
            store:write(function()
              for i = 1, 20000 do store:create("Dog", { name = "dog number " .. i }) end
            end)
            """
        #expect(try Tool.run(["-e", filling], in: folder.path).exitCode == 0)
        // A separate process does this, because it represents another program.
        let cutting = """
            local whole = io.open("cut.moonpool", "rb"):read("a")
            local file = io.open("cut.moonpool", "wb")
            file:write(whole:sub(1, #whole // 2))
            file:close()
            local ok, err = pcall(moonpool.open, "cut.moonpool")
            print(ok, err.code, err.message)
            """
        let outcome = try Tool.run(["-e", cutting], in: folder.path)
        #expect(outcome.output.hasPrefix("false\tfile_corrupt\t"), "\(outcome)")
        #expect(outcome.output.contains("cut.moonpool"))
    }

    @Test func `an error prints like any Lua error, with file and line`() throws {
        let outcome = try Self.run("print(select(2, pcall(function() rex.age = 3 end)))")
        #expect(outcome.output.contains("case.lua:"))
    }

    @Test func `a rolled back write leaves no changes`() throws {
        let outcome = try Self.run(
            """
            pcall(write, function()
              rex.name = "Max"
              store:create("Dog", { id = 2, name = "Pup" })
              error "no"
            end)
            print(rex.name, #store:objects "Dog", store.is_in_write)
            """)
        #expect(outcome.output.hasPrefix("Rex\t1\tfalse\n"), "\(outcome.output)")
    }

    @Test func `handlers that trigger each other endlessly are stopped and reported`() throws {
        let outcome = try Tool.run(
            script: """
                local store = moonpool.open { in_memory = "endless", schema = { Count = { id = "int primary", n = "int" } } }
                local count = store:write(function() return store:create("Count", { id = 1, n = 0 }) end)
                local calls = 0
                local token = count:observe(function()
                  calls = calls + 1
                  store:write(function() count.n = count.n + 1 end)
                end, { name = "ping" })
                store:write(function() count.n = 1 end)
                moonpool.wait_until(function() return calls > 100 end, 20)
                token:invalidate()
                """)
        #expect(outcome.exitCode == 1)
        #expect(outcome.error.contains("ping"), "\(outcome.error)")
    }
}
