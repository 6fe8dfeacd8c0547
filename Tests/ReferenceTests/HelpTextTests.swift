import Reference
import Testing

/// Help on the Lua API.
@Suite struct HelpTextTests {
    let help = HelpText()

    @Test func `help on a function shows signatures, summary, errors and an example`() throws {
        let page = try #require(help.page(on: "Results.where"))
        #expect(
            page == """
                Results:where(predicate: string, ...: any) → Results
                Results:where(values: table) → Results
                  also a member of list, set, map
                    Returns the objects that match a predicate with the arguments $1, $2 …, or that have the given
                    values. In a collection of values, SELF is the value.
                    Errors: invalid_query, unknown_property, type_mismatch, invalid_argument

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
                "store.autorefresh: boolean (writable)"))
    }

    @Test func `help on a type shows its members and an example`() throws {
        let page = try #require(help.page(on: "store"))
        #expect(page.hasPrefix("store: A live object store"))
        #expect(page.contains("\n  :write"))
        #expect(page.contains("\n  .version"))
        let options = try #require(help.page(on: "open options"))
        #expect(options.contains(".durability") && options.contains("moonpool.open {"))
        #expect(try #require(help.page(on: "OpenOptions")) == options)
        #expect(try #require(help.page(on: "frozen store")).contains("and all members of store"))
    }

    @Test func `the help on an error code lists the functions that raise it`() throws {
        let page = try #require(help.page(on: "not_in_write"))
        #expect(page.contains("use store:write"))
        #expect(page.contains("store:create"))
    }

    @Test func `an unknown name has no help, and a similar name is suggested`() {
        for text in ["", ".", "wher", "x:y:z", "öäü", String(repeating: "x", count: 10_000)] {
            #expect(help.page(on: text) == nil, "\(text.prefix(20))")
        }
        #expect(HelpText.nearest(to: "wher") == "where")
        #expect(HelpText.nearest(to: "dogs:sortd") == "sorted")
        #expect(HelpText.nearest(to: "qqqqqqq") == nil)
    }

    @Test func `lines of code are not divided inside a string`() {
        let lines = TextWrap(columns: 30).lines(
            ofCode: "dogs = store:objects(\"Dog\"):where(\"age > 2\")", indent: "  ",
            hanging: "    ")
        #expect(lines == ["  dogs =", "    store:objects(\"Dog\"):where(\"age > 2\")"])
    }

    @Test(arguments: [
        ("return 1", ["    return 1"]),
        ("  f(1)\nend", ["      f(1)", "    end"]),
        (
            #"local card = rex:project { name = "name", master = "owner.name", toy = "toys[1]" }"#,
            [
                #"    local card = rex:project { name = "name","#,
                #"      master = "owner.name", toy = "toys[1]" }"#,
            ]
        ),
        (
            #"  store:write(function() rex.age = 8 rex.name = "a 'long' name" end)  --> 2"#,
            [
                "      store:write(function() rex.age = 8",
                #"        rex.name = "a 'long' name" end)  --> 2"#,
            ]
        ),
        (
            "local dog = store:get(\"Dog\", 1)  -- nil if the store has no dog with this primary key",
            [
                #"    local dog = store:get("Dog", 1)"#,
                "      -- nil if the store has no dog with this",
                "      --  primary key",
            ]
        ),
        (
            "local token <close> = dogs:sections('breed'):observe(function(c)",
            [
                "    local token <close> =",
                "      dogs:sections('breed'):observe(function(c)",
            ]
        ),
    ]) func `long lines of examples are divided between arguments and statements`(
        code: String, lines: [String]
    ) {
        #expect(TextWrap(columns: 50).lines(ofCode: code, indent: "    ") == lines)
    }

    @Test(arguments: [40, 60, 80, 120]) func `no line of help is wider than the window`(
        columns: Int
    ) {
        let help = HelpText(columns: columns)
        for name in HelpText.names {
            for line in (help.page(on: name) ?? "").split(separator: "\n") {
                // Long words, and code without a space outside of its strings, are not divided.
                let longest = line.split(separator: " ").map(\.count).max() ?? 0
                let isLong = line.count > max(columns, longest + columns / 2)
                #expect(!isLong || !Self.hasSpace(line), "\(name): \(line)")
            }
        }
    }

    /// Whether a line has a space after its margin and outside of strings.
    private static func hasSpace(_ line: Substring) -> Bool {
        var quote: Character?
        for character in line.drop(while: { $0 == " " }) {
            if let end = quote {
                if character == end { quote = nil }
            } else if character == " " {
                return true
            } else if character == "\"" || character == "'" {
                quote = character
            }
        }
        return false
    }

    @Test func `every name has help`() {
        for name in HelpText.names { #expect(help.page(on: name) != nil, "\(name)") }
    }

    @Test func `the parts of a help page can be colored`() throws {
        let colored = HelpText { "<\($1):\($0)>" }
        let page = try #require(colored.page(on: "token.invalidate"))
        #expect(page.hasPrefix("<signature:token:invalidate()>\n"))
        #expect(page.contains("    <example:local token = "))
    }
}
