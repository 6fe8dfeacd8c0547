import Reference
import Testing

@testable import REPL

/// `.help` and `help`.
@Suite struct HelpCommandTests {
    @Test func `names, functions and values have help with an example`() throws {
        let session = try TestSession()
        let page = try session.run(".help store.create")
        #expect(page.hasPrefix("store:create(class: string"))
        #expect(page.contains("Errors: not_in_write"))
        #expect(page.contains("store:create(\"Dog\""))
        #expect(try session.run("help 'store.create'") == page)
        #expect(try session.run("help(store.create)") == page)
        #expect(
            try session.run("help(moonpool.json.encode)").contains(
                "moonpool.json.encode(value: any)"))
        #expect(try session.run("help(store)").contains("store: A live object store"))
        #expect(try session.run("help(moonpool.null)").contains("null: Represents nil"))
        #expect(try session.run("help 'not_in_write'").contains("use store:write"))
        #expect(try session.run("help()").contains(".observers"))
        #expect(try session.run("help(print)").hasPrefix("print(...)\n"))
        #expect(try session.run("help(moonpool.wrap)").hasPrefix("nil; pass a name"))
        #expect(try session.run("help(('').gmatch('', ''))").hasPrefix("a built-in function; "))
        _ = try session.run("function f(a, b, ...) return a end local function g() end")
        #expect(try session.run("help(f)").hasPrefix("function (a, b, ...), from entry "))
        #expect(try session.run("help(g)").hasPrefix("function (), from entry "))
        _ = try session.run(
            """
            -- unrelated

            -- Adds two numbers.
            --   add(1, 2)
            function add(a, b) return a + b end
            """)
        #expect(
            try session.run("help(add)").firstMatch(
                of:
                    /^function \(a, b\), from entry [0-9]+:5\n    Adds two numbers.\n    add\(1, 2\)$/
            )
                != nil)
        #expect(try session.run("help(1)").hasPrefix("a number; "))
        #expect(try session.run("help({})").hasPrefix("a table; "))
    }

    @Test func `Help on an undefined name suggests a similar one`() throws {
        let session = try TestSession()
        _ = try session.run("dogs = 1 zoo = { cats = 1 }")
        #expect(try session.run("help(dgos)") == "nil; did you mean 'dogs'?")
        #expect(try session.run("help(zoo.cast)") == "nil; did you mean 'cats'?")
        #expect(try session.run("help(nil)").hasPrefix("nil; pass a name"))
        #expect(try session.run("help()") == session.run(".help"))
    }

    @Test func `Lua's own library has help`() throws {
        let session = try TestSession()
        let names = try session.run(
            """
            for name, value in pairs(package.loaded) do
              if value == _G[name] and name ~= "moonpool" and name ~= "_G" then
                for key in pairs(value) do print(name .. "." .. key) end
              end
            end
            for key in pairs(getmetatable(io.stdout).__index) do print("file:" .. key) end
            for key in pairs(_G) do if not key:find "^_%d" then print(key) end end
            """
        ).split(separator: "\n").map(String.init)
        let (known, libraries) = try session.with {
            ($0.texts("entries", of: "help"), $0.texts("libraries", of: "help"))
        }
        let others = ["moonpool", "store", "help", "_"] + libraries
        // Debian's Lua also has functions of Lua 5.3.
        let old = [
            "math.atan2", "math.cosh", "math.frexp", "math.ldexp", "math.log10", "math.pow",
            "math.sinh", "math.tanh", "debug.setcstacklimit",
        ]
        #expect(Set(names).subtracting(known).subtracting(others + old).isEmpty)
        #expect(Set(known).subtracting(names).isEmpty)
        #expect(Set(known).count == known.count && known.count > 140)
        for (entry, expected) in [
            (".help string.format", "string.format(format, ...) → string"),
            ("help(string.rep)", "string.rep(s, n"), ("help(math)", "math.abs(x) → number"),
            (".help table.insert", "table.insert(t"), (".help file:read", "file:read(...)"),
            (".help basic", "assert(v"), ("help 'gsub'", "string.gsub("),
            (".help coroutine", "coroutine.close(co)"),
        ] {
            #expect(try session.run(entry).hasPrefix(expected), "\(entry)")
        }
        #expect(try session.run(".help insert").contains("list:insert("))
        #expect(try session.run(".help insert").contains("table.insert("))
        #expect(try session.complete(".help string.fo") == ["string.format"])
    }

    @Test func `Topics of help list commands, types, errors and libraries`() throws {
        let session = try TestSession()
        let overview = try session.run(".help")
        let (all, topics) = try session.with {
            ($0.commands.compactMap { $0["name"].text }, $0.texts("topics", of: "help"))
        }
        let names = Set(HelpText.names.map { $0.lowercased() } + all)
        for topic in topics {
            #expect(overview.contains("  \(topic) "))
            #expect(!names.contains(topic), "\(topic)")
            #expect(try !session.run(".help \(topic)").contains("no help"), "\(topic)")
        }
        let commands = try session.run(".help commands")
        for name in all {
            #expect(overview.contains(".\(name)") && commands.contains(".\(name)"))
        }
    }

    @Test func `help on an object shows its class, and similar names are suggested`() throws {
        let session = try TestSession()
        _ = try session.run("store:define { Dog = { name = 'string' } }")
        _ = try session.run(
            "rex = store:write(function() return store:create('Dog', { name = 'Rex' }) end)")
        let page = try session.run("help(rex)")
        #expect(page.contains("Dog = {") && page.contains("observe_value"))
        #expect(try session.run(".help wher") == "no help on 'wher'; did you mean 'where'?")
        #expect(try session.run(".help Dgo").contains("did you mean 'Dog'?"))
        #expect(try session.run(".help .schema").hasPrefix(".schema"))
        #expect(try session.run(".help qqqqqqqq") == "no help on 'qqqqqqqq'")
        #expect(try session.run("help('xyz' .. ('y'):rep(5000))").contains("no help on"))
        #expect(try session.run("help('\\255')").isEmpty == false)
    }

    @Test func `functions of the prompt are in the catalog, with output of examples`() throws {
        let session = try TestSession()
        _ = try session.run("1")
        let globals = try session.with { session -> Set<String> in
            Set(session.context.state.globals.pairs.compactMap(\.key.text))
        }
        let script = try TestSession.globalsOfScripts()
        let own = globals.subtracting(script).subtracting(["_1", "store"])
        #expect(own == Set(HelpCatalog.entries(of: HelpCatalog.prompt).map(\.name)))
        _ = try session.run("store:define { Dog = { name = 'string' } }")
        for entry in HelpCatalog.entries(of: HelpCatalog.prompt) where !entry.example.isEmpty {
            for line in entry.example.split(separator: "\n") {
                #expect(try session.run(String(line)).count > 100, "\(line)")
            }
        }
        #expect(try session.run(".help help").hasPrefix("help(topic?: any)\n"))
        #expect(try session.run(".help _").hasPrefix("_: any\n"))
        #expect(try session.run(".help inspect").contains("moonpool.inspect(value: any"))
    }

    @Test func `inspect has the output of the prompt, in the width of the window`() throws {
        let session = try TestSession(columns: 40)
        #expect(try session.run("print(moonpool.inspect { 1, 'x' })") == "{ 1, \"x\" }")
        let lines = try session.run(
            "print(moonpool.inspect { a = ('x'):rep(15), b = ('y'):rep(15), c = 1 })")
        #expect(lines.split(separator: "\n").count == 5)
        #expect(try session.run("moonpool.inspect({}, { items = -1 })").contains("at least 0"))
    }

    @Test(arguments: [60, 120])
    func `help, commands and errors are not wider than the window`(columns: Int) throws {
        let session = try TestSession(columns: columns)
        _ = try session.run("store:define { Dog = { name = 'string' } }")
        for entry in [
            ".help", "help()", ".help .observers", "help(print)", ".watch", ".explain",
            "store:objects('Dog'):where 'nmae = 1'", ".why 1",
            "error('a message of ' .. ('many words '):rep(40))",
        ] {
            let lines = try session.run(entry).split(separator: "\n")
            #expect(!lines.isEmpty, "\(entry)")
            for line in lines { #expect(line.count < columns, "\(entry): \(line)") }
        }
    }

    @Test func `every name of the API completes after .help`() throws {
        let session = try TestSession()
        #expect(try session.complete(".help observe_v") == ["observe_value"])
    }
}
