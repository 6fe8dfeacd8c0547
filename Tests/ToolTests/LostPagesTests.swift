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

    @Test func `threads that read a file while it is truncated get errors`() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let outcome = try Tool.run(
            script: Self.beginning + """
                local begun, ended = 0, 0
                moonpool.on_message(function(message)
                  if message == "begins" then begun = begun + 1 else ended = ended + 1 end
                end)
                for i = 1, 6 do
                  moonpool.worker("reader " .. i, function(dogs)
                    moonpool.post_to_parent("begins")
                    repeat until not pcall(function() return #dogs:where "name contains '77'" end)
                    moonpool.post_to_parent("ends")
                  end, store:objects "Dog")
                end
                moonpool.wait_until(function() return begun == 6 end, 60)
                io.open(path, "w"):close()
                moonpool.wait_until(function() return ended == 6 end, 60)
                print(begun, ended)
                """, arguments: [folder.path])
        #expect(outcome.output == "6\t6\n", "\(outcome.error)")
        #expect(outcome.exitCode == 0, "\(outcome.error)")
    }
}
