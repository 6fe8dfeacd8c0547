import Glibc
import Testing

/// `moonpool lint` and `moonpool luals`.
@Suite struct LintCommandTests {
    let folder = try! TemporaryFolder()

    func makeStore() throws -> String {
        let store = folder.path + "/zoo.moonpool"
        try Tool.lua(
            "moonpool.open { path = arg[1], schema = { Dog = { id = 'int primary', name = 'string', "
                + "friends = 'Dog[]' } } }", store
        ).expectSuccess()
        return store
    }

    @Test func `findings are lines with a location, and exit code 1`() throws {
        let bad = try folder.write("local x = 1\nprnt(x)\n", to: "bad.lua")
        let good = try folder.write("print(1)\n", to: "good.lua")
        let outcome = try Tool.run(["lint", good, bad]).expectExit(1)
        #expect(outcome.output == "\(bad):2:1: unknown global 'prnt'; did you mean 'print'?\n")
        #expect(outcome.error == "")
        let clean = try Tool.run(["lint", good])
        #expect(clean.exitCode == 0 && clean.output == "" && clean.error == "")
        let json = try Tool.run(["lint", "--json", bad]).expectExit(1)
        #expect(
            json.output
                == "{\"scripts\":1,\"findings\":[{\"script\":\"\(bad)\",\"line\":2,\"column\":1,\"rule\":\"unknown_global\",\"message\":\"unknown global 'prnt'; did you mean 'print'?\"}]}\n"
        )
        try Tool.run(["lint", bad, "--global", "prnt"]).expectSuccess()
    }

    @Test func `a store's classes and properties are known with --store`() throws {
        let store = try makeStore()
        let script = try folder.write(
            "local s = moonpool.open 'zoo.moonpool'\nprint(#s:objects('Dog'):where 'nmae == 1')\n",
            to: "script.lua")
        try Tool.run(["lint", script]).expectSuccess()
        let outcome = try Tool.run(["lint", script, "--store", store]).expectExit(1)
        #expect(
            outcome.output == "\(script):2:32: 'Dog' has no property 'nmae'; did you mean 'name'?\n"
        )
    }

    @Test func `an unreadable file has exit code 2, and an unknown option 64`() throws {
        let missing = try Tool.run(["lint", folder.path + "/none.lua"]).expectExit(2)
        #expect(
            missing.error
                == "moonpool: cannot read '\(folder.path)/none.lua': No such file or directory\n")
        let good = try folder.write("print(1)\n", to: "good.lua")
        try Tool.run(["lint", good, "--store", folder.path + "/none.moonpool"]).expectError(
            "there is no store", code: 2)
        try Tool.run(["lint", good, "--store", good]).expectExit(2)
        try Tool.run(["lint", folder.path]).expectExit(2)
        try Tool.run(["lint"]).expectExit(64)
        try Tool.run(["lint", good, "--jsn"]).expectExit(64)
    }

    @Test func `the project's own scripts have no findings`() throws {
        let own = "Sources/CLuaFiles/lua"
        let files = ["examples", own, own + "/api", own + "/migrate"].flatMap { name in
            let folder = "\(Tool.root)/\(name)"
            return TemporaryFolder.names(in: folder).map { "\(folder)/\($0)" }
        }
        let outcome = try Tool.run(["lint"] + files.filter { $0.hasSuffix(".lua") })
        // One example shows the result of a misspelled name, and `host` exists only for the files of the program.
        let found = outcome.lines.filter {
            !$0.hasSuffix("has no property 'poeple'; did you mean 'people'?")
                && !$0.hasSuffix("unknown global 'host'; did you mean 'os'?")
        }
        #expect(found == [])
        #expect(outcome.error == "")
    }

    // MARK: - luals

    @Test func `annotations are written to standard output or to a folder`() throws {
        let store = try makeStore()
        let all = try Tool.run(["luals", store])
        #expect(all.output.hasPrefix("---@meta moonpool\n"))
        #expect(all.output.contains("---@class Dog: moonpool.Object\n"))
        #expect(all.output.contains("---@field friends moonpool.List<Dog> Dog[]\n"))
        let outcome = try Tool.run(["luals", store, "--output", folder.path + "/types"])
        let types = folder.path + "/types"
        #expect(outcome.output == "\(types)/moonpool.lua\n\(types)/zoo-classes.lua\n")
        let api = try contents(of: types + "/moonpool.lua")
        let classes = try contents(of: types + "/zoo-classes.lua")
        #expect(api + "\n" + classes == all.output)
        // Both are Lua.
        for file in ["moonpool.lua", "zoo-classes.lua"] {
            let path = "\(types)/\(file)"
            try Tool.run(["-e", "assert(loadfile(arg[1]))", "-", path]).expectSuccess()
        }
    }

    @Test func `a missing folder or store is reported in one line with exit code 1`() throws {
        try Tool.run(["luals", "--output", "/no/such/folder"]).expectError(
            "cannot create the folder '/no/such/folder': ")
        let store = try Tool.run(["luals", "/no/such/zoo.moonpool"]).expectExit(1)
        #expect(
            store.error
                == "moonpool: there is no store '/no/such/zoo.moonpool' and no folder '/no/such'\n")
        #expect(store.output == "")
        try Tool.run(["luals", "--outptu", "/tmp"]).expectExit(64)
    }
}
