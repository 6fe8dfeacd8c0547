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

        @Test
        func `an engineer sees why an observer of a running process was called, and why not`()
            throws
        {
            let folder = try TemporaryFolder()
            let script = try Self.run(Self.shop, in: folder)
            let (studio, browser) = try open(
                ["\(folder.path)/shop.sock", "--open-to", "observers"], in: folder, needsRows: false
            )
            attempt(studio, browser) {
                let rows = "[...one('table', 'Observers').tBodies[0].rows]"
                try browser.expect("text('heading')", "shop.moonpool")
                try browser.expect("\(rows).map((r) => r.cells[0].textContent)", "overdue,slow")
                try browser.expect(
                    "[...one('table', 'Observers').tHead.querySelectorAll('th')].map((h) => h.textContent)",
                    "Observer,Observes,Key paths,Calls,Last change,Mean time,Source")
                try browser.expect(
                    "[...\(rows)[0].cells].slice(1, 4).map((c) => c.textContent).join('|')",
                    "Order where status == 'open' and due < 20|status, due|1")
                try browser.expect("\(rows)[0].cells[6].textContent", "shop.lua:6")
                // The calls follow the commits of other processes.
                try Self.change(folder, "store:object('Order', 17).status = 'paid'")
                try Self.change(folder, "store:object('Order', 3).due = 5")
                try browser.expect("\(rows)[0].cells[3].textContent", "3")
                try browser.run(
                    ";[...document.querySelectorAll('th button')].find((b) => b.textContent === 'Mean time').click()"
                )
                try browser.expect("\(rows).map((r) => r.cells[0].textContent)", "slow,overdue")
                try browser.expect(
                    "document.querySelector('th[aria-sort]').ariaSort", "descending")
                // Why: the commit, the object, the key path, the observer.
                try browser.run("one('button', 'Why overdue').click()")
                try browser.expect(
                    "all('treeitem').map(nameOf).join('|').replace(/version \\d+/, 'version N').replace(/took .*? .s/, 'took T')",
                    "version N, written by script|Order 3|due: 3 → 5|key path due|overdue (shop.lua:6), of Order where "
                        + "status == 'open' and due < 20|1 object, the call took T|it reads only objects that a commit changes"
                )
                try browser.run("all('treeitem')[0].focus()")
                try browser.type(Browser.down + Browser.down)
                try browser.expect("nameOf(document.activeElement)", "due: 3 → 5")
                try browser.type(Browser.left + Browser.left)
                try browser.expect("document.activeElement.ariaExpanded", "false")
                // Why not: the condition that is false, and the commit that made it false.
                try browser.run("one('button', 'Why not overdue').click()")
                try browser.expect("all('region', 'Why overdue').length", "0")
                try browser.expect(StudioPageTests.focused(), "Object")
                try browser.type("Order 17" + Browser.enter)
                try browser.expect(
                    "text('status', 'Explanation')?.replace(/version \\d+/, 'version N')",
                    "Order 17✓filterdue < 20 due is 17✗filterstatus == 'open' status is \"paid\", changed from \"open\" by "
                        + "version N (script)✓key pathsstatus, dueRequired for a call: status == 'open' must be true."
                )
                try browser.run("one('textbox', 'Object').select()")
                try browser.type("Order 99" + Browser.enter)
                try browser.expect(
                    "text('status', 'Explanation')", "there is no Order '99'")
                // The object before the commit.
                try browser.run("one('textbox', 'Object').select()")
                try browser.type("Order 17" + Browser.enter)
                try browser.expect("all('link', 'Order 17').length", "1")
                try browser.run("one('link', 'Order 17').click()")
                try browser.expect("text('complementary', 'Object')?.includes('paid')", "true")
                try browser.run("one('tab', 'History').click()")
                try browser.expect("one('list', 'Versions').children.length > 2", "true")
                try browser.run("one('list', 'Versions').children[2].firstChild.click()")
                try browser.expect("text('complementary', 'Object')?.includes('open')", "true")
                // The console runs in the process, and the studio's own observers are not in its lists.
                try StudioPageTests.enter("#moonpool.observers(), arg[0]", in: browser)
                try browser.expect(
                    "one('article', 'Entry 1').lastChild.textContent.split('\\n').slice(0, 2)",
                    "2,\"shop.lua\"")
            }
            // The script continues without the studio, and its end is that of the studio.
            #expect(try studio.end().exitCode == 0)
            try Self.change(folder, "store:object('Order', 4).due = 6")
            let count = try Tool.run(
                ["attach", "\(folder.path)/shop.sock", "-e", "#moonpool.observers()"],
                in: folder.path)
            #expect(count.output == "2\n", "\(count.output)\(count.error)")
            let second = try StudioProgram(["\(folder.path)/shop.sock"], in: folder.path)
            script.send(SIGKILL)
            #expect(try second.process.finish(within: 60).exitCode == 0)
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
