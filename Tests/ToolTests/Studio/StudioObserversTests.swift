import Foundation
import TestSupport
import Testing

extension StudioPageTests {
    /// The view *Observers*, and the studio of a running process.
    struct Observers {
        static let shop = """
            local store = moonpool.open { path = "shop.moonpool", history = 100, durability = "memory", schema = {
              Order = { { "id", "int primary" }, { "status", "string" }, { "due", "int?" } } } }
            store:write(function()
              for i = 1, 40 do store:create("Order", { id = i, status = "open", due = i }) end
            end)
            local overdue = store:objects("Order"):where("status == 'open' and due < 20"):observe(function() end,
              { name = "overdue", keypaths = { "status", "due" } })
            local slow = store:objects("Order"):observe(function()
              local begin = os.clock()
              while os.clock() - begin < 0.002 do end
            end, { name = "slow" })
            print("ready")

            """

        /// Starts a script that other processes can attach to.
        static func run(_ code: String, in folder: TemporaryFolder) throws -> Subprocess {
            try folder.write(code, to: "shop.lua")
            return try Subprocess(
                Tool.path, ["--attachable=\(folder.path)/shop.sock", "shop.lua"], in: folder.path,
                until: "ready")
        }

        static func change(_ folder: TemporaryFolder, _ code: String) throws {
            try Tool.lua(
                "store = moonpool.open 'shop.moonpool' store:write(function() \(code) end)",
                in: folder.path
            ).expectSuccess()
        }

        @Test func `a process shown read-only has no console, and its script can end`() throws {
            let folder = try TemporaryFolder()
            let script = try Self.run(
                Self.shop
                    + """
                    local ending = store:object("Order", 1):observe(function(change)
                      for _, token in ipairs(moonpool.observers()) do token:invalidate() end
                    end)
                    """,
                in: folder)
            let studio = try StudioProgram(
                ["\(folder.path)/shop.sock", "--read-only"], in: folder.path)
            let page = try studio.welcome()
            let reply = try page.request(["do": "rows", "class": "Order", "first": 0, "count": 5])
            #expect((reply["ok"] as? [String: Any])?["total"] as? Int == 40, "\(reply)")
            let key = try studio.session().key
            let hello = try page.request(["do": "hello", "key": key, "protocol": 1])
            #expect((hello["ok"] as? [String: Any])?["console"] as? Bool == false)
            for request in ["evaluate", "write"] {
                let reply = try page.request(["do": request, "text": "1", "operations": []])
                #expect(reply["error"] != nil, "\(reply)")
            }
            // The observers of the studio do not keep the script alive.
            try Self.change(folder, "store:object('Order', 1).status = 'paid'")
            try script.finish(within: 60).expectSuccess()
            try studio.process.finish(within: 60).expectSuccess()
        }

        @Test func `the schema is read once, and again after each change of the schema`() throws {
            let folder = try TemporaryFolder()
            let script = try Self.run(
                Self.shop
                    + """
                    local class = debug.getmetatable(store)
                    local index = class.__index
                    reads = 0
                    function class.__index(object, name)
                      if name == "schema" then reads = reads + 1 end
                      return index(object, name)
                    end
                    """, in: folder)
            defer { script.send(SIGKILL) }
            let studio = try StudioProgram(["\(folder.path)/shop.sock"], in: folder.path)
            let page = try studio.welcome()
            func reads() throws -> String? {
                let reply = try page.request(["do": "evaluate", "text": "reads"])
                let parts = (reply["ok"] as? [String: Any])?["parts"] as? [[String: Any]]
                return parts?.first?["text"] as? String
            }
            let reply = try page.request(["do": "schema"])
            #expect(reply["ok"] != nil, "\(reply)")
            _ = try page.request(["do": "rows", "class": "Order", "first": 0, "count": 5])
            for number in 1...3 {
                try Self.change(folder, "store:create('Order', { 100 + \(number), 'new', 1 })")
                for _ in 1...2 { page.seen(try page.event()) }
            }
            #expect(try reads() == "1\n")
            let define =
                "local store = moonpool.open 'shop.moonpool' store:define { Order = { '...', note = 'string?' } }"
            try Tool.run(["-e", define], in: folder.path).expectSuccess()
            let classes = try page.event()["classes"] as? [[String: Any]]
            #expect((classes?.first?["properties"] as? [Any])?.count == 4)
            #expect(try reads() == "2\n")
        }

        @Test func `a process that does not listen is an error that names it`() throws {
            let outcome = try Tool.run(["studio", "--no-browser", "999999"]).expectExit(1)
            #expect(outcome.error.contains("999999") && outcome.error.contains("--attachable"))
        }

        /// Returns a `moonpool-studio` whose arguments contain a text.
        private static func process(mentioning text: String) -> pid_t? {
            TemporaryFolder.names(in: "/proc").compactMap { pid_t($0) }.first {
                let command = (try? contents(of: "/proc/\($0)/cmdline")) ?? ""
                return command.contains("moonpool-studio") && command.contains(text)
            }
        }

        @Test func `the prompt opens the studio on its session, and ends it`() throws {
            let folder = try TemporaryFolder()
            let terminal = try PseudoTerminal(columns: 160)
            try terminal.start(
                Tool.path, [],
                environment: [
                    "HOME": folder.path, "TMPDIR": folder.path, "XDG_RUNTIME_DIR": folder.path,
                    "PATH": "/usr/bin:/bin",
                ])
            try terminal.wait(forText: "store v")
            terminal.type("store:define { Dog = { name = 'string' } }\r")
            terminal.type(".studio --no-browser\r")
            // A terminal can show the first part of an address before the rest arrives.
            func address(_ number: Int) throws -> String {
                let whole = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}/
                try terminal.wait(for: "address \(number)") {
                    $0.text.matches(of: whole).count == number
                }
                return String(try #require(terminal.screen.text.matches(of: whole).last).0)
            }
            let browser = try Browser()
            try browser.open(try address(1))
            try browser.expect("all('link', 'Dog, 0 objects').length", "1")
            terminal.type("store:write(function() store:create('Dog', { name = 'Rex' }) end)\r")
            try browser.expect("rows().map((r) => cells(r)[0])", "Rex")
            // The page writes on the thread of the session.
            try StudioPageTests.enter(
                "store:write(function() store:objects('Dog'):update { name = 'Max' } end)",
                in: browser)
            try browser.expect("rows().map((r) => cells(r)[0])", "Max")
            terminal.type("store:objects('Dog')[1].name\r")
            try terminal.wait(forText: "\"Max\"")
            // The end of the studio is reported, and it can be opened again.
            kill(try #require(Self.process(mentioning: folder.path)), SIGTERM)
            try terminal.wait(forText: "the studio has ended; .studio opens it again")
            terminal.type(".studio --no-browser\r")
            _ = try address(2)
            kill(try #require(Self.process(mentioning: folder.path)), SIGKILL)
            try terminal.wait(forText: "the studio has ended with exit code")
            terminal.type(".studio --no-browser\r")
            try browser.open(try address(3))
            try browser.expect("text('status', 'Connection')", "connected")
            terminal.type(".quit\r")
            #expect(try terminal.exitCode() == 0)
            #expect(terminal.screen.text.matches(of: /the studio has ended/).count == 2)
            try browser.expect("text('status', 'Connection')", "disconnected")
        }
    }
}
