import Testing

/// Another program, or the script itself, truncates a file that a store has open.
@Suite struct LostPagesTests {
    private static let script = """
        local path = arg[1] .. "/cut short.moonpool"
        local store = moonpool.open { path = path, schema = { Dog = { name = "string", age = "int" } } }
        store:write(function()
          for i = 1, 20000 do store:create("Dog", { name = "dog " .. i, age = i % 20 }) end
        end)
        print(store:objects("Dog"):count())
        io.open(path, "w"):close()
        local function look() return store:objects("Dog"):where("name endswith '7'"):sum("age") end
        print("continued", pcall(look))
        """

    @Test func `the process ends with an error message instead of a crash`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(Self.script, to: "cut.lua")
        let outcome = try Tool.run([script, folder.path])
        #expect(outcome.exitCode == 74, "\(outcome.error)")
        #expect(outcome.output == "20000\n")
        #expect(
            outcome.error.hasPrefix(
                "\nmoonpool: \(folder.path)/cut short.moonpool can no longer be read"),
            "\(outcome.error)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
    }

    @Test func `one message is printed for any number of threads`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write(
            """
            local path = arg[1] .. "/shared.moonpool"
            local store = moonpool.open { path = path, schema = { Dog = { name = "string" } } }
            store:write(function()
              for i = 1, 20000 do store:create("Dog", { name = "dog " .. i }) end
            end)
            local begun = 0
            moonpool.on_message(function() begun = begun + 1 end)
            for i = 1, 6 do
              moonpool.worker("reader " .. i, function(dogs)
                moonpool.post_to_parent("begins")
                while true do local _ = #dogs:where "name contains '77'" end
              end, store:objects "Dog")
            end
            moonpool.wait_until(function() return begun == 6 end)
            io.open(path, "w"):close()
            while true do local _ = #store:objects "Dog":where "name contains '78'" end
            """, to: "cut.lua")
        let outcome = try Tool.run([script, folder.path])
        #expect(outcome.exitCode == 74, "\(outcome.error)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
    }
}
