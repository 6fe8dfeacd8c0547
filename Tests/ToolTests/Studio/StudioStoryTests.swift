import Foundation
import Testing

extension StudioPageTests {
    /// What three users do: a newcomer prototypes, an engineer asks why, and an analyst receives a Realm file.
    struct Stories {
        private static let schema =
            "return { Dog = { { 'id', 'int primary' }, { 'name', 'string' }, { 'age', 'int?' } } }"

        /// Replaces the text of the schema.
        static func setSchema(_ text: String, in browser: Browser) throws {
            try browser.run(
                "const field = one('textbox', 'Schema'); field.value = `\(text)`; field.dispatchEvent(new Event('input'))"
            )
        }

        @Test func `a newcomer prototypes a schema, objects and an observer`() throws {
            let folder = try TemporaryFolder()
            try attempt(open([], in: folder, needsRows: false)) { browser in
                try browser.run("one('tab', 'Schema').click()")
                try browser.expect("one('textbox', 'Schema').value.includes('return')", "true")
                try Self.setSchema("return { Dog = { age = 'itn' } }", in: browser)
                try browser.run("one('button', 'Apply').click()")
                try browser.expect("text('alert', 'Schema error')?.includes('itn')", "true")
                try Self.setSchema("return {", in: browser)
                try browser.expect("all('alert', 'Schema error').length", "0")
                try browser.run("one('button', 'Plan').click()")
                try browser.expect("all('alert', 'Schema error').length", "1")
                try Self.setSchema(Self.schema, in: browser)
                try browser.run("one('button', 'Apply').click()")
                try browser.expect("all('link').map(nameOf)", "Dog, 0 objects")
                try browser.expect(
                    "one('img', 'Schema diagram').getAttribute('aria-description')",
                    "Classes: Dog.")
                try browser.run("one('tab', 'Data').click()")
                for number in 1...3 {
                    try browser.expect("one('button', 'Add object').disabled", "false")
                    try browser.run("one('button', 'Add object').click()")
                    try browser.type(
                        "\(number)\(Browser.tab)Dog \(number)\(Browser.tab)\(number)\(Browser.enter)"
                    )
                    try browser.expect("rows().map(nameOf).includes('Dog \(number)')", "true")
                    try browser.expect("all('dialog').length", "0")
                }
                try enter(
                    "token = store:objects('Dog'):where('age > 3'):observe(function(c) print(c.type, #c.insertions) end, { name = 'old' })",
                    in: browser)
                try browser.expect("all('note', 'Output of old').length", "1")
                try browser.run("one('grid').focus()")
                try browser.type("\u{E011}" + Browser.right + Browser.right + "9" + Browser.enter)
                try browser.expect("cells(one('row', 'Dog 3'))[2]", "9")
                try browser.expect("one('log', 'Output').lastChild.textContent", "oldupdate\t1\n")
                try browser.run("one('button', 'Save as script').click()")
                let script = try browser.waitForDownload("session.lua")
                let outcome = try Tool.lua(
                    "dofile('\(script)') print(#store:objects('Dog'), store:object('Dog', 3).age)")
                #expect(outcome.output.hasSuffix("3\t9\n"), "\(outcome.output)\(outcome.error)")
            }
        }

        @Test func `an engineer sees why an observer was called, and why not`() throws {
            let folder = try TemporaryFolder()
            let script = try Observers.run(Observers.shop, in: folder)
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
                try Observers.change(folder, "store:object('Order', 17).status = 'paid'")
                try browser.expect("\(rows)[0].cells[3].textContent", "2")
                try Observers.change(folder, "store:object('Order', 3).due = 5")
                try browser.expect("\(rows)[0].cells[3].textContent", "3")
                // The rest needs no mouse.
                try browser.tab(to: "Mean time")
                try browser.type(Browser.enter)
                try browser.expect("\(rows).map((r) => r.cells[0].textContent)", "slow,overdue")
                try browser.expect("document.querySelector('th[aria-sort]').ariaSort", "descending")
                // Why: the commit, the object, the key path, the observer.
                try browser.tab(to: "Why overdue")
                try browser.type(Browser.enter)
                try browser.expect(
                    "all('treeitem').map(nameOf).join('|').replace(/version \\d+/, 'version N').replace(/took .*? .s/, 'took T')",
                    "version N, written by script|Order 3|due: 3 → 5|key path due|overdue (shop.lua:6), of Order where "
                        + "status == 'open' and due < 20|1 object, the call took T|it reads only objects that a commit changes"
                )
                try browser.tab(until: "e.role === 'treeitem'")
                try browser.type(Browser.down + Browser.down)
                try browser.expect("nameOf(document.activeElement)", "due: 3 → 5")
                try browser.type(Browser.left + Browser.left)
                try browser.expect("document.activeElement.ariaExpanded", "false")
                // Why not: the condition that is false, and the commit that made it false.
                try browser.tab(to: "Why not overdue")
                try browser.type(Browser.enter)
                try browser.expect("all('region', 'Why overdue').length", "0")
                try browser.expect(StudioPageTests.focused(), "Object")
                try browser.type("Order 17" + Browser.enter)
                try browser.expect(
                    "text('status', 'Explanation')?.replace(/version \\d+/, 'version N')",
                    "Order 17✓filterdue < 20 due is 17✗filterstatus == 'open' status is \"paid\", changed from \"open\" by "
                        + "version N (script)✓key pathsstatus, dueRequired for a call: status == 'open' must be true."
                )
                try browser.type("a", holding: Browser.control)
                try browser.type("Order 99" + Browser.enter)
                try browser.expect("text('status', 'Explanation')", "Order '99' does not exist")
                // The object before the commit.
                try browser.type("a", holding: Browser.control)
                try browser.type("Order 17" + Browser.enter)
                try browser.expect("all('link', 'Order 17').length", "1")
                try browser.tab(to: "Order 17")
                try browser.type(Browser.enter)
                try browser.expect("text('complementary', 'Object')?.includes('paid')", "true")
                try browser.expect(StudioPageTests.focused("role"), "grid")
                try browser.tab(to: "Data")
                try browser.type(Browser.right + Browser.right + Browser.right)
                try browser.expect("one('list', 'Versions').children.length > 2", "true")
                try browser.tab(to: "Version")
                try browser.type(Browser.left + Browser.left)
                try browser.expect("text('complementary', 'Object')?.includes('open')", "true")
                // The console runs in the process, and the studio's own observers are not in its lists.
                try StudioPageTests.enter("#moonpool.observers(), arg[0]", in: browser)
                try browser.expect(
                    "one('article', 'Entry 1').lastChild.textContent.split('\\n').slice(0, 2)",
                    "2,\"shop.lua\"")
            }
            // The script continues without the studio, and its end is that of the studio.
            try studio.end().expectSuccess()
            try Observers.change(folder, "store:object('Order', 4).due = 6")
            let count = try Tool.run(
                ["attach", "\(folder.path)/shop.sock", "-e", "#moonpool.observers()"],
                in: folder.path)
            #expect(count.output == "2\n", "\(count.output)\(count.error)")
            let second = try StudioProgram(["\(folder.path)/shop.sock"], in: folder.path)
            script.send(SIGKILL)
            try second.process.finish(within: 60).expectSuccess()
        }

        @Test func `a Realm file is read, followed and exported, and never changed`() throws {
            let folder = try TemporaryFolder()
            let file = folder.path + "/kennel.realm"
            try Subprocess("/bin/cp", ["\(Tool.root)/examples/kennel.realm", file]).finish()
                .expectSuccess()
            try folder.make("migrations")
            let before = try Subprocess("/usr/bin/sha256sum", [file]).finish().output
            let (studio, browser) = try open(["kennel.realm", "--to", "kept.moonpool"], in: folder)
            attempt(studio, browser) {
                try browser.expect("text('heading')", "kennel.realm")
                try browser.expect("text('status', 'Access')", "read-only")
                try browser.expect(
                    "all('link').slice(0, 3).map(nameOf)",
                    "Collar, 1 object,Dog, 3 objects,Person, 1 object")
                try browser.run("one('link', 'Dog, 3 objects').click()")
                try browser.expect("one('grid').ariaLabel", "Dog")
                try browser.run("one('combobox', 'Filter').focus()")
                try browser.type("owner.name == 'Ann'" + Browser.enter)
                try browser.expect("rows().map(nameOf)", "Dog 1,Dog 3")
                try browser.run("one('link', 'Person Ann').click()")
                try browser.expect("all('link', 'Dog.owner, 2 objects').length", "1")
                try browser.run("one('link', 'Dog.owner, 2 objects').click()")
                try browser.expect("rows().map(nameOf)", "Dog 1,Dog 3")
                try browser.run("one('button', 'Export').click()")
                try browser.run("one('dialog', 'Export').querySelector('.primary').click()")
                try browser.expect("text('status', 'Export')", "2 objects written to Dog.csv")
                try browser.type(Browser.escape)
                let csv = try browser.waitForDownload("Dog.csv")
                #expect(try contents(of: csv).hasPrefix("id,name,"))
                // A rehearsal of a folder that begins with the schema of the Realm file.
                try Tool.run(
                    ["migrate", "plan", "--dir", "migrations", "kennel.realm"], in: folder.path
                ).expectSuccess()
                try folder.write(
                    """
                    return { changes = { Dog = { months = "int?" } }, drops = { "Dog.age" },
                      up = function(m) m:each("Dog", function(old, new) new.months = old.age * 12 end) end }
                    """, to: "migrations/0002_months.lua")
                try browser.run("one('tab', 'Migrations').click()")
                try browser.run("one('textbox', 'Folder').focus()")
                try browser.type("migrations" + Browser.enter)
                try browser.expect("one('table', 'Migrations')?.rows.length", "3")
                try browser.expect("all('button', 'Apply').length", "0")
                try browser.run("one('button', 'Rehearse').click()")
                try browser.expect("all('region', 'Rehearsal').length", "1")
                try browser.expect(
                    "[...one('table', 'Dog').tBodies[0].rows].slice(0, 2).map((r) => [...r.cells].map((c) => c.textContent).join('|'))",
                    "Dog 1|age|7|dropped,|months||84")
            }
            try studio.end().expectSuccess()
            #expect(try Subprocess("/usr/bin/sha256sum", [file]).finish().output == before)
            try Tool.run(["check", "kept.moonpool"], in: folder.path).expectSuccess()
        }
    }
}
