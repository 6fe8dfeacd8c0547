import Foundation
import Testing

extension StudioPageTests {
    /// The pictures of the article.
    struct Pictures {
        @Test func `the pictures of the article are those of the page`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder)
            try change(
                folder, "store:object('Dog', 7).age = 12 store:object('Dog', 11).name = 'Nova'")
            try change(
                folder,
                "store:delete(store:object('Dog', 3)) store:object('Dog', 5).weight = 22.5 store:object('Dog', 7).age = 13"
            )
            var page: Page?
            for (name, width, height) in [("studio", 1280, 800), ("studio-narrow", 390, 844)] {
                let (studio, browser) = try open(
                    ["zoo.moonpool", "--open-to", "Dog where age > 3"], in: folder, width: width,
                    height: height, after: page)
                page = (studio, browser)
                attempt(studio, browser) {
                    try browser.expect("text('complementary', 'Object').startsWith('Dog ')", "true")
                    try keep(browser, name, in: folder)
                    try enter(
                        "token = store:objects('Dog'):where('age > 12'):observe(function(change) print(change) end, { name = 'old dogs' })",
                        in: browser)
                    try enter(
                        "store:write(function() store:object('Dog', 6).age = \(width % 13 + 13) end)",
                        in: browser)
                    try enter(
                        "store:objects('Dog'):where('age > 12'):average 'weight'", in: browser)
                    try browser.expect("one('article', 'Entry 3') !== undefined", "true")
                    try browser.expect("all('note', 'Output of old dogs').length", "2")
                    try keep(browser, name.replacing("studio", with: "studio-console"), in: folder)
                    try browser.run("one('log', 'Output').replaceChildren()")
                    // History: the version before the last one.
                    try browser.run("one('tab', 'History').click()")
                    try browser.expect("one('list', 'Versions').children.length > 2", "true")
                    try browser.run("one('list', 'Versions').children[1].firstChild.click()")
                    try browser.expect("all('status', 'Shown version').length", "1")
                    try browser.expect("one('table', 'Changes').rows.length > 1", "true")
                    try keep(browser, name.replacing("studio", with: "studio-history"), in: folder)
                }
            }
        }

        @Test func `the picture of the observers is that of the page`() throws {
            let folder = try TemporaryFolder()
            let script = try Observers.run(Observers.shop, in: folder)
            defer { script.send(SIGKILL) }
            var page: Page?
            for (name, width, height) in [
                ("studio-observers", 1280, 800), ("studio-observers-narrow", 390, 844),
            ] {
                let (studio, browser) = try open(
                    ["\(folder.path)/shop.sock", "--open-to", "observers"], in: folder,
                    width: width, height: height, needsRows: false, after: page)
                page = (studio, browser)
                attempt(studio, browser) {
                    try Observers.change(folder, "store:object('Order', 3).due = \(width)")
                    try Observers.change(folder, "store:object('Order', 17).status = 'paid'")
                    try browser.expect("one('table', 'Observers').tBodies[0].rows.length", "2")
                    try browser.run("one('button', 'Why not overdue').click()")
                    try browser.type("Order 17" + Browser.enter)
                    try browser.expect("text('status', 'Explanation').includes('Required')", "true")
                    try keep(browser, name, in: folder)
                }
            }
        }

        @Test func `the pictures of the schema and of migrations are those of the page`() throws {
            let folder = try TemporaryFolder()
            try makeZoo(folder, 60)
            try folder.make("migrations")
            let code = """
                moonpool.migrate.up("shop.moonpool", { dir = "migrations", to = 1 })
                local store = moonpool.open "shop.moonpool"
                store:write(function()
                  for i, name in ipairs { "Ann Lee", "Ben Moor", "Cleo Diaz", "Dan Ito" } do
                    store:create("Customer", { id = i, name = name, fax = i > 2 and "555-01" .. i or nil })
                  end
                end)
                """
            for (name, text) in [
                (
                    "0001_customers",
                    "return { schema = { Customer = { id = 'int primary', name = 'string', fax = 'string?' } } }"
                ),
                (
                    "0002_split_names",
                    "return { schema = { Customer = { id = 'int primary', first = 'string?', last = 'string?', name = 'string', fax = 'string?' } }, "
                        + "up = function(m) m:each('Customer', function(old, new) new.first, new.last = old.name:match('(%S+) (%S+)') end) end }"
                ),
                (
                    "0003_drop_fax",
                    "return { schema = { Customer = { id = 'int primary', first = 'string?', last = 'string?', name = 'string' } }, drops = { 'Customer.fax' } }"
                ),
            ] {
                try folder.write(text, to: "migrations/\(name).lua")
            }
            try Tool.run(["-e", code], in: folder.path).expectSuccess()
            var page: Page?
            for (ending, width, height) in [("", 1280, 800), ("-narrow", 390, 844)] {
                let (schema, first) = try open(
                    ["zoo.moonpool", "--open-to", "schema"], in: folder, width: width,
                    height: height, needsRows: false, after: page)
                attempt(schema, first) {
                    try first.expect("one('textbox', 'Schema')?.value.includes('weight')", "true")
                    try first.run(
                        "const field = one('textbox', 'Schema'); field.value = field.value.replace(/.*weight.*\\n/, ''); field.dispatchEvent(new Event('input')); one('button', 'Plan').click()"
                    )
                    try first.expect("all('checkbox').length", "1")
                    try keep(first, "studio-schema\(ending)", in: folder)
                }
                let (shop, second) = try open(
                    ["shop.moonpool", "--open-to", "migrations"], in: folder, width: width,
                    height: height, needsRows: false, after: (schema, first))
                page = (shop, second)
                attempt(shop, second) {
                    try second.run("one('textbox', 'Folder').focus()")
                    try second.type("migrations" + Browser.enter)
                    try second.expect("one('table', 'Migrations')?.rows.length", "4")
                    try second.run("one('button', 'Rehearse').click()")
                    try second.expect("all('region', 'Rehearsal').length", "1")
                    try keep(second, "studio-migrations\(ending)", in: folder)
                }
            }
        }
    }
}
