import Testing

/// Another program, or the script itself, truncates a file that a store has open.
@Suite struct LostPagesTests {
    private let folder = try! TemporaryFolder()

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
        defer { withExtendedLifetime(folder) {} }
        try Tool.run(
            script: Self.beginning + """
                io.open(path, "w"):close()
                print(code(look), code(store.write, store, function() end), code(store.refresh, store))
                store:close()
                print(io.open(path):seek("end"))
                """, arguments: [folder.path]
        ).expectOutput("file_replaced\tfile_replaced\tfile_replaced\n0\n")
    }

    @Test func `an idle process distinguishes long histories from other files`() throws {
        let writer = try folder.write(
            """
            local store = moonpool.open { path = arg[1] }
            for i = 1, 300 do store:write(function() store:create("Dog", { name = arg[2], age = i }) end) end
            """, to: "writer.lua")
        let outcome = try Tool.run(
            script: Self.beginning + """
                local function commit(path, name)
                  assert(os.execute(string.format("'%s' '%s' '%s' %s", arg[2], arg[3], path, name)))
                end
                store:backup(arg[1] .. "/copy.moonpool")
                -- The history of the other process no longer contains the version of this one.
                commit(path, "other")
                print(code(store.refresh, store), #store:objects "Dog")
                -- The history of the copy contains neither this version nor the commits before it.
                commit(arg[1] .. "/copy.moonpool", "second")
                commit(arg[1] .. "/copy.moonpool", "second")
                local copy = io.open(arg[1] .. "/copy.moonpool", "rb")
                local file = io.open(path, "r+b")
                file:write(copy:read("a"))
                file:close()
                print(code(store.refresh, store))
                """, arguments: [folder.path, Tool.path, writer])
        #expect(outcome.output == "no error\t20300\nfile_replaced\n", "\(outcome.error)")
    }

    @Test func `a truncated lock file does not end the process`() throws {
        defer { withExtendedLifetime(folder) {} }
        try Tool.run(
            script: Self.beginning + """
                local function cut() io.open(path .. "-lock", "w"):close() end
                cut()
                print(code(store.write, store, function() end), code(look))
                """, arguments: [folder.path]
        ).expectOutput("file_replaced\tno error\n")
    }
}
