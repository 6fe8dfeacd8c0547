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
            try code.write(toFile: folder.path + "/shop.lua", atomically: true, encoding: .utf8)
            let script = try Subprocess(
                Tool.path, ["--attachable=\(folder.path)/shop.sock", "shop.lua"], in: folder.path)
            try script.wait(within: 60) { script.output.contains("ready") }
            return script
        }

        static func change(_ folder: TemporaryFolder, _ code: String) throws {
            let outcome = try Tool.run(
                [
                    "-e",
                    "store = moonpool.open 'shop.moonpool' store:write(function() \(code) end)",
                ],
                in: folder.path)
            #expect(outcome.exitCode == 0, "\(outcome.error)")
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
            for request in ["evaluate", "write"] {
                let reply = try page.request(["do": request, "text": "1", "operations": []])
                #expect(reply["error"] != nil, "\(reply)")
            }
            // The observers of the studio do not keep the script alive.
            try Self.change(folder, "store:object('Order', 1).status = 'paid'")
            #expect(try script.finish(within: 60).exitCode == 0)
            #expect(try studio.process.finish(within: 60).exitCode == 0)
        }

        @Test func `a process that does not listen is an error that names it`() throws {
            let outcome = try Tool.run(["studio", "--no-browser", "999999"])
            #expect(outcome.exitCode == 1)
            #expect(outcome.error.contains("999999") && outcome.error.contains("--attachable"))
        }

        @Test func `the prompt opens the studio on its session, and ends it`() throws {
            let folder = try TemporaryFolder()
            let terminal = try PseudoTerminal(columns: 160)
            try terminal.start(
                Tool.path, [],
                environment: ["HOME": folder.path, "TMPDIR": folder.path, "PATH": "/usr/bin:/bin"])
            try terminal.wait(forText: "store v")
            terminal.type("store:define { Dog = { name = 'string' } }\r")
            terminal.type(".studio --no-browser\r")
            try terminal.wait(forText: "?token=")
            let address = try #require(
                terminal.screen.text.firstMatch(
                    of: /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}/)
            ).0
            let browser = try Browser()
            try browser.open(String(address))
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
            terminal.type(".quit\r")
            #expect(try terminal.exitCode() == 0)
            try browser.expect("text('status', 'Connection')", "disconnected")
        }
    }
}
