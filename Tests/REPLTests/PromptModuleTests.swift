import Foundation
import LineEditing
import Reference
import Testing

@testable import LuaHost
@testable import REPL

/// The module `moonpool.prompt`, with commands as users write them.
@Suite struct PromptModuleTests {
    private static let dogs = """
        moonpool.prompt.command("dogs", "Show all dogs.", function(args) moonpool.prompt.write("dogs: " .. args.text .. "\\n") end)
        """

    private func kennel(hasPanels: Bool = false) throws -> TestSession {
        let session = try TestSession(columns: 300, hasPanels: hasPanels)
        _ = try session.run("store:define { Dog = { name = 'string', age = 'int' } }")
        return session
    }

    @Test func `The examples of the article run and print its output`() throws {
        let page = CommandPageTests.path.replacing("REPL.md", with: "ExtendingThePrompt.md")
        let text = try String(contentsOfFile: page, encoding: .utf8)
        let session = try TestSession()
        var examples = 0
        for block in text.split(separator: "```").enumerated() where block.offset % 2 == 1 {
            let lines = block.element.split(separator: "\n", omittingEmptySubsequences: false)
            let body = lines.dropFirst().dropLast()
            guard lines[0] == "text" else {
                let shown = try session.run(body.joined(separator: "\n"))
                #expect(shown.isEmpty)
                continue
            }
            var shown: [String] = []
            for entry in body where entry.hasPrefix("> ") {
                shown += ["\(entry)", try session.run(String(entry.dropFirst(2)))]
            }
            #expect(shown.joined(separator: "\n") == body.joined(separator: "\n"))
            examples += 1
        }
        #expect(examples == 3)
    }

    @Test func `The examples of the catalog run and print their output`() throws {
        let others = HelpCatalog.entries(of: HelpCatalog.moonpool).filter {
            ["complete", "evaluate"].contains($0.name)
        }
        #expect(others.count == 2)
        for entry in HelpCatalog.entries(of: HelpCatalog.promptModule) + others
        where !entry.example.isEmpty {
            let wanted = entry.example.split(separator: "\n").compactMap { line in
                line.firstRange(of: "--> ").map { String(line[$0.upperBound...]) }
            }
            let shown = try TestSession().run(entry.example)
            #expect(shown == wanted.joined(separator: "\n"), "\(entry.name)")
        }
    }

    @Test func `A command is listed, explained, completed and run`() throws {
        let session = try kennel()
        _ = try session.run(Self.dogs)
        #expect(try session.run(".dogs  a  b ") == "dogs: a  b")
        #expect(try session.run(".help").contains("  yours") == true)
        #expect(try session.run(".help dogs") == ".dogs [...]\n    Show all dogs.")
        #expect(try session.run(".help yours").contains("Show all dogs."))
        #expect(try session.run(".help commands").contains("Show all dogs."))
        #expect(try session.complete(".do") == [".dogs", ".down"])
        #expect(try session.run(".dogz").contains("did you mean .dogs?"))
    }

    @Test func `Completion is a kind, a list of words or a function`() throws {
        let session = try kennel()
        func declare(_ complete: String) throws {
            let shown = try session.run(
                "moonpool.prompt.command('x', 'Test.', print, { complete = \(complete) })")
            #expect(shown.isEmpty)
        }
        try declare("'class'")
        #expect(try session.complete(".x D") == ["Dog"])
        try declare("{ 'one', 'two', 'three' }")
        #expect(try session.complete(".x t") == ["three", "two"])
        try declare("function(text) return { text .. '!', 'other' } end")
        #expect(try session.complete(".x b") == ["b!"])
        try declare("function(text) error 'broken' end")
        #expect(try session.complete(".x b").isEmpty)
        #expect(try session.run("moonpool.complete '.x b'").contains(": broken"))
        try declare("function(text) return moonpool.complete('.x ' .. text) end")
        #expect(try session.complete(".x b").isEmpty)
        for wrong in ["'x'", "5"] {
            #expect(
                try session.run(
                    "moonpool.prompt.command('x', 'Test.', print, { complete = \(wrong) })"
                ).contains("expected class, expression, file, observer, query, a list of words"))
        }
    }

    @Test func `A command of the prompt is replaced only on demand`() throws {
        let session = try kennel()
        for name in ["undo", "exit", "classes"] {
            let text = "moonpool.prompt.command('\(name)', 'Test.', function() print 'mine' end"
            #expect(
                try session.run(text + ")").contains(
                    "'.\(name)' is a command of the prompt; replace it with { replace = true }"))
            #expect(try session.run(text + ", { replace = true })").isEmpty)
            #expect(try session.run(".\(name)") == "mine")
            // Its own command is replaced without a question.
            #expect(try session.run(text + ")").isEmpty)
        }
        #expect(try session.with { $0.commands.count { $0["name"].text == "undo" } } == 1)
        for name in ["a b", "", "1a", "a\\n"] {
            #expect(
                try session.run("moonpool.prompt.command('\(name)', 'Test.', print)").contains(
                    "expected a name of letters, digits, '_' and '-'"))
        }
        #expect(
            try session.run("moonpool.prompt.command('a', 'Test.', print, { useage = 'x' })")
                .contains("unknown option 'useage'; did you mean 'usage'?"))
        #expect(
            try session.run("moonpool.prompt.command('a', 'Test.', print, { save = 7 })")
                .contains("option 'save': expected Lua code or false, got a number"))
    }

    @Test func `An error of a command has its location and variables`() throws {
        let session = try kennel()
        _ = try session.run(
            """
            moonpool.prompt.command("bad", "Test.", function(args)
              local count = 3
              error("no " .. args[1])
            end)
            """)
        let shown = try session.run(".bad luck")
        #expect(shown.contains("entry 3:3: no luck"))
        #expect(!shown.contains("[moonpool"))
        #expect(try session.run(".locals").contains("count = 3"))
        _ = try session.run(
            "moonpool.prompt.command('yield', 'Test.', function() coroutine.yield() end)")
        #expect(try session.run(".yield").contains("outside a coroutine"))
        _ = try session.run(
            "moonpool.prompt.command('plain', 'Test.', function() error('no', 0) end)")
        #expect(try session.run(".plain") == "no")
    }

    @Test func `Ctrl-C stops a command and rolls back its write`() throws {
        let session = try kennel()
        _ = try session.run(
            """
            moonpool.prompt.command("loop", "Test.", function()
              store:begin_write()
              store:create("Dog", { name = "Rex", age = 1 })
              moonpool.prompt.write "begun\\n"
              while true do end
            end)
            """)
        #expect(try session.runAndInterrupt(".loop").contains("interrupted"))
        #expect(try session.run("#store:objects 'Dog'") == "0")
        #expect(try session.run("store.is_in_write") == "false")
    }

    @Test func `Text and tables show control characters as escape sequences`() throws {
        let session = try kennel()
        #expect(
            try session.run("moonpool.prompt.write('a\\27[2Jb\\r', 1, nil, true, '\\n')")
                == "a\\x1B[2Jb\\r1niltrue")
        let lines = try session.run(
            "moonpool.prompt.columns { { 'a', 'b' }, { '\\27c\\n' }, { 1, 2, 3 }, {} }"
        ).split(separator: "\n").map(\.trimmed)
        #expect(lines == ["a        b", "\\x1Bc\\n", "1        2  3", ""])
        #expect(try session.run("moonpool.prompt.columns {}").isEmpty)
        #expect(
            try session.run("moonpool.prompt.columns { 1 }").contains(
                "expected a list of rows, got a row that is a number"))
        #expect(
            try session.run("moonpool.prompt.paint('a', 'b')").contains("unknown style 'b'; use"))
    }

    @Test func `A saved session runs without the prompt`() throws {
        let session = try kennel()
        _ = try session.run(Self.dogs)
        _ = try session.run(".dogs 1")
        let text = try session.with { $0.savedScript }
        #expect(text.contains("\n-- .dogs 1\n"))
        _ = try session.run("moonpool.prompt = nil")
        let shown = try session.run(
            "assert(load([==[\(text.replacing("\"store\"", with: "\"other\""))]==]))()")
        #expect(shown.isEmpty)
    }

    @Test func `A panel draws lines, receives keys and is closed once`() throws {
        let session = try kennel(hasPanels: true)
        _ = try session.run(
            """
            closed, keys = 0, ""
            moonpool.prompt.panel {
              lines = function(columns, rows) return { columns .. "x" .. rows, keys .. "\\27" } end,
              key = function(key)
                if key == "up" then error "broken" end
                keys = keys .. key
                return key == "x"
              end,
              closed = function() closed = closed + 1 end,
            }
            """)
        func press(_ key: PanelKey) throws -> PanelFrame {
            try session.with { $0.pressInPanel(key) }
        }
        #expect(try session.with { $0.panelFrame() }?.lines == ["300x24", "\\x1B"])
        #expect(try press(.character("q")).lines == ["300x24", "q\\x1B"])
        #expect(try press(.pageDown).lines == ["300x24", "qpage_down\\x1B"])
        #expect(try press(.character("x")).isOver)
        #expect(try session.run("closed") == "1")
        _ = try session.run(
            "moonpool.prompt.panel { lines = function() return { {} } end, key = error }")
        #expect(try press(.interrupt).isOver)
        _ = try session.run("moonpool.prompt.panel { lines = function() return 1 end }")
        #expect(
            try session.with { $0.panelFrame() }?.lines.first?.contains("must be a table") == true)
        #expect(try press(.escape).isOver)
        #expect(try session.run("moonpool.prompt.panel {}").contains("field 'lines'"))
    }

    @Test func `The commands of the prompt use nothing that a script can change`() throws {
        let session = try kennel()
        _ = try session.run(
            """
            local pairs, type = pairs, type
            for _, library in pairs { string, table, math, utf8, coroutine, debug, moonpool.prompt } do
              for name in pairs(library) do library[name] = nil end
            end
            moonpool.observers, moonpool.complete, moonpool.evaluate, package.loaded.string = nil
            for name, value in pairs(_G) do
              if type(value) == "function" then _G[name] = nil end
            end
            """)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).lua").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        for (entry, shown) in [
            (".help", "Topics"), (".help string.format", "string.format("),
            (".help .hlep", "did you mean 'help'?"), (".hlep", "did you mean .help?"),
            (".timing on", "timing is on"), (".timing off", "timing is off"),
            (".mode json", "output mode: json"), (".mode table", "output mode: table"),
            (".last", "there is no result"), (".once", "expected a file name"),
            (".output", ""), (".schema Dog --lua", "Dog = {"), (".schema", "Dog"),
            (".classes", "Dog"), (".explain Dog", "objects of 'Dog'"),
            (".stats", "observers       0"),
            (".replication", "not replicated"), (".pins", "version"), (".versions", "version"),
            (".watch Dog", "0 Dog"), (".observers", "no observers"),
            (".why 1", "there are no observers"), (".whynot", ".whynot takes"),
            (".live #store:objects 'Dog'", "[live 1]"), (".live", "1: #store"), (".live off", ""),
            (".locals", "no error has occurred"), (".up", "no error"), (".down", "no error"),
            (".history", "schema"), (".diff", "version"), (".goto 9", "9"), (".begin", ""),
            (".commit", "committed"), (".undo 99", "99"), (".redo", "undo"),
            (".rollback", "transaction"), (".migration", "expected a name"),
            (".load", "expected a file name"), (".save \(file)", "run it with"),
            (".transcript", "expected a file name"),
            (".edit", "cannot run an editor"), (".reload", "no module has changed"),
            (".tutorial", "1/10"), (".tutorial off", "ended"), ("stroe", "did you mean 'store'?"),
        ] {
            let text = try session.run(entry)
            #expect(
                (shown.isEmpty || text.contains(shown)) && !text.contains("[moonpool"),
                "\(entry): \(text)")
        }
        #expect(try session.complete(".hist") == [".history"])
        #expect(try session.complete("store:objects('D") == ["Dog"])
        #expect(try session.complete("store:begin_w") == ["begin_write"])
        #expect(try session.complete(".watch Dog where na") == ["name"])
        #expect(try session.with { $0.matchHint(for: ".watch Dog where age > 9") } == "0 of 0 Dog")
    }

    @Test func `Every command has help and completion, and is loaded when it runs`() throws {
        let session = try TestSession()
        func files() throws -> Set<String> {
            try session.with { Set($0.context.state.runtimeFiles.keys) }
        }
        #expect(try files() == ["prompt/errors"])
        #expect(try session.complete(".tim") == [".timing"])
        #expect(
            try files() == ["prompt/errors", "prompt/completion", "prompt/commands", "prompt/text"])
        _ = try session.run(".timing off")
        #expect(try files().contains("prompt/session") && !files().contains("prompt/live"))
        for name in try session.with({ $0.commands.compactMap { $0["name"].text } }) {
            #expect(try session.run(".help .\(name)").hasPrefix(".\(name)"))
            #expect(try session.complete(".\(name)").contains(".\(name)"))
            #expect(try session.with { $0.completion(of: ".\(name) zzz") } == nil)
        }
    }

    @Test(arguments: [
        ".explain loop()", ".watch loop()", ".live loop()", ".whynot x loop()", "load",
    ])
    func `Ctrl-C stops the code that a command runs`(_ entry: String) throws {
        let session = try kennel()
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).lua").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "print 'begun' while true do end".write(toFile: file, atomically: true, encoding: .utf8)
        _ = try session.run(
            "x = store:observe(print, { name = 'x' }) function loop() dofile '\(file)' end")
        let entry = entry == "load" ? ".load \(file)" : entry
        #expect(try session.runAndInterrupt(entry).contains("interrupted"))
        #expect(try session.run("6 * 7") == "42")
    }

    @Test func `Errors in the prompt's own files are not shown as errors of the user`() throws {
        let session = try kennel()
        _ = try session.run("local count = 7 error 'mine'")
        for entry in [".commit", ".undo x", ".whynot", ".explain 1"] {
            let shown = try session.run(entry)
            #expect(!shown.contains("[moonpool") && !shown.isEmpty, "\(entry): \(shown)")
        }
        #expect(try session.run(".locals").contains("count = 7"))
        for entry in [".explain error 'oh'", ".watch error 'oh'", ".live error 'oh'"] {
            let shown = try session.run(entry)
            #expect(shown.contains("oh") && !shown.contains("[moonpool"), "\(entry): \(shown)")
            #expect(!shown.contains("[C]"), "\(entry): \(shown)")
        }
    }
}
