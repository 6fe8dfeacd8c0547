import Foundation
import Testing

/// `moonpool studio` in a browser, by the roles and names of its elements.
@Suite(
    .serialized,
    .enabled(if: Browser.isInstalled, "install chromium and chromium-driver to run these tests"))
enum StudioPageTests {
    static let zoo = """
        local store = moonpool.open { path = "zoo.moonpool", durability = "memory", schema = {
          Person = { { "name", "string primary" }, { "city", "string?" }, { "dogs", "backlinks Dog.owner" } },
          Dog = { { "id", "int primary" }, { "name", "string" }, { "age", "int?" }, { "weight", "double?" }, { "born", "date?" },
                  { "owner", "Person" }, { "tags", "string<>" }, { "toys", "Toy[]" } },
          Toy = { { "label", "string" }, { "price", "decimal?" } } } }

        """

    static func change(_ folder: TemporaryFolder, _ code: String) throws {
        try Tool.run(["-e", zoo + "store:write(function() \(code) end)"], in: folder.path)
            .expectSuccess()
    }

    /// Creates a store with this number of dogs.
    static func makeZoo(_ folder: TemporaryFolder, _ count: Int = 812) throws {
        try change(
            folder,
            """
            local people, names = {}, { "Rex", "Bella", "Max", "Luna", "Rocky", "Daisy", "Milo", "Ruby", "Oskar", "Frida", "Zoë" }
            for i, name in ipairs { "Ann", "Ben", "Cleo", "Dan", "Eva" } do
              people[i] = store:create("Person", { name = name, city = i > 2 and "Lisbon" or "Oslo" })
            end
            for i = 1, \(count) do
              store:create("Dog", { id = i, name = names[i * 7 % 11 + 1], age = i % 9 > 0 and i % 17 or nil, weight = (i * 37 % 420 + 30) / 10,
                born = moonpool.date(1600000000 + i * 86400), owner = i % 6 > 0 and people[i % 5 + 1] or nil,
                tags = i % 3 == 0 and { "good", "loud" } or { "calm" },
                toys = i < 9 and { { label = "ball " .. i, price = moonpool.decimal("1.50") } } or nil })
            end
            """)
    }

    typealias Page = (studio: StudioProgram, browser: Browser)

    /// Opens the page of a new program, in the browser of an earlier page if there is one.
    static func open(
        _ arguments: [String], in folder: TemporaryFolder, width: Int = 1280, height: Int = 800,
        needsRows: Bool = true, after earlier: Page? = nil
    ) throws -> Page {
        let studio = try StudioProgram(arguments, in: folder.path)
        let browser = try earlier?.browser ?? Browser(width: width, height: height)
        try browser.resize(width, height)
        try browser.open(studio.address)
        try browser.expect("text('status', 'Connection')", "connected")
        if needsRows { try browser.expect("rows().length > 0", "true") }
        return (studio, browser)
    }

    /// Runs steps in a page without errors, and keeps a picture of a failure.
    static func attempt(_ studio: StudioProgram, _ browser: Browser, _ body: () throws -> Void) {
        do {
            try withExtendedLifetime(studio, body)
            let messages = try browser.messages()
            #expect(messages == [])
        } catch {
            let path = "/tmp/moonpool-studio-failure-\(getpid()).png"
            try? browser.picture(to: path)
            let messages = (try? browser.messages()) ?? []
            Issue.record("\(error); picture: \(path); \(messages)")
        }
    }

    /// Runs steps in a page, whose program runs until their end.
    static func attempt(_ page: Page, _ body: (Browser) throws -> Void) {
        attempt(page.studio, page.browser) { try body(page.browser) }
    }

    /// Runs steps in the page of a store with this number of dogs.
    static func withZoo(
        _ arguments: [String], count: Int = 812, _ body: (TemporaryFolder, Browser) throws -> Void
    ) throws {
        let folder = try TemporaryFolder()
        try makeZoo(folder, count)
        try attempt(open(arguments, in: folder)) { try body(folder, $0) }
    }

    /// Keeps the descriptions of changed cells in the variable `descriptions`: a cell has its description for three seconds.
    static func keepDescriptions(in browser: Browser) throws {
        try browser.run(
            """
            window.descriptions = []
            new MutationObserver(() => document.querySelectorAll("studio-grid [aria-description]").forEach((cell) =>
              descriptions.includes(cell.ariaDescription) || descriptions.push(cell.ariaDescription)))
              .observe(one("grid"), { childList: true, subtree: true })
            """)
    }

    static func focused(_ attribute: String = "aria-label") -> String {
        "document.activeElement.getAttribute('\(attribute)')"
    }

    static func value(_ folder: TemporaryFolder, _ code: String) throws -> String {
        try Tool.run(["-e", zoo + "print(\(code))"], in: folder.path).output
    }

    static func enter(_ entry: String, in browser: Browser) throws {
        try browser.run("one('textbox', 'Lua').focus()")
        try browser.type(entry + Browser.enter)
    }

    /// Takes the pictures that an article shows, in both themes; MOONPOOL_WRITE_PICTURES names a folder that keeps them.
    ///
    /// The article has them with a palette: `pngquant --force --ext .png FOLDER/*.png`.
    static func keep(_ browser: Browser, _ name: String, in folder: TemporaryFolder) throws {
        try browser.expect("document.documentElement.scrollWidth <= innerWidth", "true")
        for (theme, ending) in [("light", ""), ("dark", "~dark")] {
            try browser.run(
                "one('combobox', 'Theme').value = '\(theme)'; one('combobox', 'Theme').dispatchEvent(new Event('change'))"
            )
            try browser.expect("document.getAnimations().length", "0")
            let file = "\(name)\(ending).png"
            try browser.picture(to: "\(folder.path)/\(file)")
            if let target = ProcessInfo.processInfo.environment["MOONPOOL_WRITE_PICTURES"] {
                try browser.picture(to: "\(target)/\(file)")
            }
            #expect(
                access("\(Tool.root)/Sources/Studio/Studio.docc/Resources/\(file)", R_OK) == 0,
                "\(file)")
        }
    }
}
