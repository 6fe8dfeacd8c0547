import Reference
import Testing

/// Help as text.
@Suite struct HelpTextTests {
    let help = HelpText()

    @Test func `a function shows its calls, its sentence, its errors and an example`() throws {
        let page = try #require(help.page(on: "Results.where"))
        #expect(
            page == """
                Results:where(predicate: string, ...: any) → Results
                Results:where(values: table) → Results
                  also of list, set, map
                    Gives the objects that match a predicate, whose arguments are $1, $2 …, or have these values; of a collection of values, those, which the predicate calls SELF.
                    Errors: invalid_query, type_mismatch, invalid_argument

                    print(#dogs:where("age >= $1 and owner.name beginswith[c] $2", 5, "a"))  --> 1
                    print(dogs:where { name = "Max" }[1].age)  --> 3
                    print(#rex.marks:where("SELF > $1", 2))  --> 1

                """)
        #expect(try #require(help.page(on: "list:where")).hasPrefix("list:where("))
        #expect(
            try #require(help.page(on: "store:create")).hasPrefix(
                "store:create(class: string, values?: table, mode?: \"error\"|\"all\"|\"modified\") → object\n"
            ))
        #expect(try #require(help.page(on: "freeze")).contains("store:freeze() → FrozenStore"))
        #expect(
            try #require(help.page(on: "autorefresh")).contains(
                "store.autorefresh: boolean  (can be set)"))
    }

    @Test func `a type shows its names, and its example`() throws {
        let page = try #require(help.page(on: "store"))
        #expect(page.hasPrefix("store: A live object store"))
        #expect(page.contains("\n  :write"))
        #expect(page.contains("\n  .version"))
        let options = try #require(help.page(on: "open options"))
        #expect(options.contains(".durability") && options.contains("moonpool.open {"))
        #expect(try #require(help.page(on: "OpenOptions")) == options)
        #expect(try #require(help.page(on: "frozen store")).contains("and all of store"))
    }

    @Test func `the help on an error code lists the functions that raise it`() throws {
        let page = try #require(help.page(on: "not_in_write"))
        #expect(page.contains("use store:write"))
        #expect(page.contains("store:create"))
    }

    @Test func `nothing is known of nonsense, and near names are offered`() {
        for text in ["", ".", "wher", "x:y:z", "öäü", String(repeating: "x", count: 10_000)] {
            #expect(help.page(on: text) == nil, "\(text.prefix(20))")
        }
        #expect(HelpText.nearest(to: "wher") == "where")
        #expect(HelpText.nearest(to: "dogs:sortd") == "sorted")
        #expect(HelpText.nearest(to: "qqqqqqq") == nil)
    }

    @Test func `every name has a page`() {
        for name in HelpText.names { #expect(help.page(on: name) != nil, "\(name)") }
    }

    @Test func `the parts of a help page can be colored`() throws {
        let coloured = HelpText { "<\($1):\($0)>" }
        let page = try #require(coloured.page(on: "token.invalidate"))
        #expect(page.hasPrefix("<signature:token:invalidate()>\n"))
        #expect(page.contains("    <example:local token = "))
    }
}
