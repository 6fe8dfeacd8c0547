import LuaHost
import ObjectStore
import Reference
import Testing

/// Schemas as Lua, as diagrams, as JSON and as annotations.
@Suite struct SchemaDocumentTests {
    static func schema(_ classes: [String: [String: String]]) throws -> Schema {
        try .planned(
            classes.map { name, properties in
                ClassSchema(
                    name,
                    try properties.map {
                        try PropertySyntax.parse(name: $0.key, in: name, $0.value)
                    }.sorted { ($0.isPrimary ? 0 : 1, $0.name) < ($1.isPrimary ? 0 : 1, $1.name) })
            })
    }

    static func zoo() throws -> Schema {
        var classes = try schema([
            "Dog": [
                "id": "int primary", "name": "string indexed fulltext", "age": "int?",
                "owner": "Person", "toys": "Toy[]", "tags": "string<>", "notes": "mixed{}",
            ],
            "Person": ["name": "string primary", "dogs": "backlinks Dog.owner"],
            "Toy": ["price": "decimal?", "end": "string?[]"],
        ]).classes
        var address = Property("street", .string, defaultValue: .string("Main \"Street\"\n\u{1}2"))
        address.storedName = "st"
        classes.append(
            ClassSchema(
                "Address",
                [Property("zip", .int, defaultValue: .int(-1)), address], isEmbedded: true))
        classes.append(
            ClassSchema(
                "Visit",
                [
                    Property("at", .date, defaultValue: .date(Timestamp(microseconds: 0))),
                    Property("dog", .object, target: "Dog"),
                    Property("weight", .double, defaultValue: .double(.infinity)),
                    Property(
                        "marks", .int, collection: .list, defaultValue: .list([.int(1), .int(2)])),
                    Property("home", .object, target: "Address"),
                ], indexes: [CompositeIndex(["dog", "at"])]))
        return try .planned(classes)
    }

    @Test func `every format shows the rules of a property`() throws {
        var age = Property("age", .int)
        age.rules.minimum = .int(0)
        var kind = Property("kind", .string)
        kind.rules.allowed = [.string("a"), .string("b")]
        kind.rules.isUnique = true
        let document = SchemaDocument([ClassSchema("Dog", [age, kind])])
        let lua = document.text(as: .lua)
        #expect(lua.contains("{ type = \"int\", min = 0 }"))
        #expect(lua.contains("{ type = \"string\", enum = { \"a\", \"b\" }, unique = true }"))
        let json = document.text(as: .json)
        #expect(
            json.contains("\"min\":0}") && json.contains("\"enum\":[\"a\",\"b\"],\"unique\":true}"))
        let mermaid = document.text(as: .mermaid)
        #expect(mermaid.contains("int age \"min = 0\""))
        #expect(mermaid.contains("string kind \"enum = { 'a', 'b' }, unique = true\""))
    }

    @Test func `the Lua format uses the short form, and the long one if needed`()
        throws
    {
        let text = SchemaDocument(try Self.zoo()).text(as: .lua)
        #expect(
            text == """
                local moonpool = require "moonpool"

                return {
                  Address = {
                    embedded = true,
                    { "zip",    { type = "int", default = -1 } },
                    { "street", { type = "string", default = "Main \\"Street\\"\\n\\0012", map_to = "st" } },
                  },
                  Dog = {
                    id    = "int primary",
                    age   = "int?",
                    name  = "string indexed fulltext",
                    notes = "mixed{}",
                    owner = "Person",
                    tags  = "string<>",
                    toys  = "Toy[]",
                  },
                  Person = {
                    name = "string primary",
                    dogs = "backlinks Dog.owner",
                  },
                  Toy = {
                    ["end"] = "string?[]",
                    price   = "decimal?",
                  },
                  Visit = {
                    { "at",     { type = "date", default = moonpool.date("1970-01-01T00:00:00Z") } },
                    { "dog",    "Dog" },
                    { "weight", { type = "double", default = math.huge } },
                    { "marks",  { type = "int[]", default = { 1, 2 } } },
                    { "home",   "Address" },
                    indexes = { { "dog", "at" } },
                  },
                }

                """)
    }

    @Test func `an empty schema prints as an empty table, and one class prints alone`() throws {
        #expect(SchemaDocument(.empty).text(as: .lua) == "return {}\n")
        #expect(SchemaDocument(.empty).text(as: .mermaid) == "erDiagram\n")
        let one = try SchemaDocument(try Self.zoo(), className: "Person")
        #expect(one.classes.map(\.name) == ["Person"])
        let error = #expect(throws: StoreError.self) {
            _ = try SchemaDocument(try Self.zoo(), className: "Persn")
        }
        #expect(error?.code == .unknownClass)
        #expect(error?.message.contains("did you mean 'Person'?") == true)
    }

    @Test func `Mermaid gets boxes with values and lines for links`() throws {
        let lines = SchemaDocument(try Self.zoo()).text(as: .mermaid).split(separator: "\n")
        #expect(lines.first == "erDiagram")
        for line in [
            "    Dog {", "        int id PK", "        int age \"optional\"",
            "        string name \"indexed, full text\"", "        set(string) tags",
            "        map(mixed) notes", "        string[] end \"of optional values\"",
            "        backlinks dogs \"of Dog.owner\"",
            "    Dog }o--o| Person : \"owner\"", "    Dog }o--o{ Toy : \"toys\"",
            "    Visit ||--o| Address : \"home\"",
        ] { #expect(lines.contains(Substring(line)), "\(line)") }
    }

    @Test func `Graphviz gets a table for each class and an arrow for each link`() throws {
        let text = SchemaDocument(try Self.zoo()).text(as: .dot)
        #expect(text.hasPrefix("digraph schema {\n") && text.hasSuffix("\n}\n"))
        #expect(text.contains("\"Dog\":\"owner\" -> \"Person\" [label = \"owner\"];"))
        #expect(text.contains("\"Dog\":\"toys\" -> \"Toy\" [label = \"toys\", arrowhead = crow];"))
        #expect(text.contains("arrowtail = diamond"))
        #expect(text.contains("string&lt;&gt;"))
        // An excluded class is still the target of links.
        let one = try SchemaDocument(try Self.zoo(), className: "Visit").text(as: .dot)
        #expect(one.contains("\"Dog\" [shape = box, style = dashed];"))
    }

    @Test func `JSON contains everything about a property`() throws {
        let text = SchemaDocument(try Self.zoo()).text(as: .json)
        #expect(
            text.hasPrefix(#"{"schema_version":0,"classes":[{"name":"Address","embedded":true"#))
        #expect(
            text.contains(
                #"{"name":"id","type":"int","optional":false,"declaration":"int primary","primary":true}"#
            ))
        #expect(
            text.contains(
                #""type":"object","optional":false,"declaration":"Toy[]","collection":"list","class":"Toy""#
            ))
        #expect(text.contains(#""indexes":[["dog","at"]]"#))
        #expect(text.contains(#""map_to":"st""#))
    }

    @Test func `LuaLS gets a class with a field for each property`() throws {
        let text = SchemaDocument(try Self.zoo()).text(as: .luals)
        for line in [
            "---@class Dog: moonpool.Object", "---@field id integer int primary",
            "---@field age integer? int?", "---@field owner Person? Person",
            "---@field toys moonpool.List<Toy> Toy[]",
            "---@field tags moonpool.Set<string> string<>",
            "---@field notes moonpool.Map<any> mixed{}",
            "---@field dogs moonpool.Results<Dog> backlinks Dog.owner",
            "---@field [\"end\"] moonpool.List<string?> string?[]",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
    }

    @Test func `names with a meaning in LuaLS are quoted or omitted`() throws {
        let schema = try Self.schema([
            "userdata": ["x": "int"],
            "Odd": ["private": "int", "while": "bool", "self": "Odd", "länge": "date?{}"],
        ])
        let text = SchemaDocument(schema).text(as: .luals)
        for line in [
            "-- 'userdata' is omitted: LuaLS has a type with this name.",
            "---@field [\"private\"] integer int", "---@field [\"while\"] boolean bool",
            "---@field self Odd? Odd", "---@field [\"länge\"] moonpool.Map<moonpool.Date?> date?{}",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        #expect(!text.contains("---@class userdata"))
    }

    @Test func `classes and properties can have letters of other scripts`() throws {
        let schema = try Self.schema(["Größe": ["länge": "int"]])
        #expect(
            SchemaDocument(schema).text(as: .lua).contains(
                "[\"Größe\"] = {\n    [\"länge\"] = \"int\","))
        #expect(SchemaDocument(schema).text(as: .mermaid).contains("    \"Größe\" {"))
    }
}
