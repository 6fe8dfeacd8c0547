import Testing

/// Another program, or the script itself, truncates a file that a store has open.
@Suite struct LostPagesTests {
    private static let beginning = """
        local path = arg[1] .. "/cut short.moonpool"
        local store = moonpool.open { path = path, schema = { Dog = { name = "string", age = "int" } } }
        store:write(function()
          for i = 1, 20000 do store:create("Dog", { name = "dog " .. i, age = i % 20 }) end
        end)
        local function look() return store:objects("Dog"):where("name endswith '7'"):sum("age") end
        local function code(...)
          local ok, err = pcall(...)
          return ok and "no error" or err.code
        end

        """

    @Test func `reads and writes are errors, and the script continues`() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let outcome = try Tool.run(
            script: Self.beginning + """
                io.open(path, "w"):close()
                print(code(look), code(store.write, store, function() end), code(store.refresh, store))
                store:close()
                print(io.open(path):seek("end"))
                """, arguments: [folder.path])
        #expect(outcome.output == "file_replaced\tfile_replaced\tfile_replaced\n0\n")
        #expect(outcome.exitCode == 0, "\(outcome.error)")
    }

    @Test func `a truncated lock file does not end the process`() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let outcome = try Tool.run(
            script: Self.beginning + """
                local function cut() io.open(path .. "-lock", "w"):close() end
                cut()
                print(code(store.write, store, function() end), code(look))
                """, arguments: [folder.path])
        #expect(outcome.output == "file_replaced\tno error\n", "\(outcome.error)")
        #expect(outcome.exitCode == 0, "\(outcome.error)")
    }
}
