import DataFormats
import ObjectStore
import Testing
import Transfer

/// Data as Lua source, which is parsed but never run.
@Suite struct LuaDataTests {
    private static let dogs = [
        "Dog": [
            "id": "int primary", "name": "string", "age": "double?", "tags": "string[]",
            "any": "mixed",
            "more": "int{}", "owner": "Person",
        ],
        "Person": ["name": "string primary"],
    ]

    @Test func `empty maps, lists, objects and classes are restored`() throws {
        let world = try TransferWorld()
        try world.store.define([
            ClassSchema("Part", [], isEmbedded: true), ClassSchema("Nothing", []),
            ClassSchema("_ENV", []), ClassSchema("schema", []),
            ClassSchema(
                "T",
                [
                    Property("id", .int, isPrimary: true), Property("x", .mixed),
                    Property("part", .object, target: "Part"),
                    Property("map", .int, collection: .map),
                    Property("list", .int, collection: .list),
                ]),
        ])
        let values: [Value] = [
            .dictionary([:]), .list([]), .list([.dictionary([:]), .list([])]),
            .dictionary(["a": .dictionary([:]), "b": .list([])]),
        ]
        try world.store.write {
            for (id, value) in values.enumerated() {
                try world.store.create(
                    "T", .dictionary(["id": .int(Int64(id)), "x": value, "part": .dictionary([:])]))
            }
            try world.store.create("Nothing", .dictionary([:]))
            try world.store.create("_ENV", .dictionary([:]))
            try world.store.create("schema", .dictionary([:]))
        }
        for name in ["a.lua", "a.jsonl", "a.json", "a.sqlite"] {
            let format = try TransferFormat(path: name)
            _ = try Exporter(.store(world.store), as: format).write(to: world.path(name))
            let copy = try TransferWorld()
            #expect(try Importer(into: copy.store).read(world.path(name), as: format).created == 7)
            #expect(try copy.values("T", "x") == values, "\(name)")
            #expect(try copy.values("T", "map") == world.values("T", "map"))
            #expect(try copy.values("T", "part").allSatisfy { $0 != .null })
            #expect(try copy.store.objects("Nothing").count() == 1)
            #expect(try copy.store.objects("_ENV").count() == 1)
            #expect(try copy.store.objects("schema").count() == 1)
        }
    }

    @Test(arguments: [
        "T {any = {[\"\\xff\"] = 1}}", "T {any = {a = \"\\xff\"}}", "_ENV[\"\\xff\"] {any = 1}",
        "return {[\"\\xff\"] = {}}",
    ])
    func `Names and texts that are not UTF-8 are errors`(source: String) throws {
        let world = try TransferWorld(["T": ["any": "mixed"]])
        let fault = message { try world.take(source, as: "a.lua") }
        #expect(fault.contains("line 1: the string is not UTF-8"), "\(fault)")
    }

    @Test func `rows are imported as calls, with every form of Lua literals`() throws {
        let world = try TransferWorld(Self.dogs)
        try world.take(
            """
            #!/usr/bin/env moonpool
            -- a comment
            Dog {id = 1, name = "R\\u{e9}x\\x21\\0331\\z
                 !\\\\", age = .5e1, tags = {"a"; 'b', [[long]], [==[
            ]]]==]}, more = {}, any = 0x10}
            --[[ another
            one ]] Person { name = 'Ann' };
            Dog { ["id"] = 2, name = "M", age = nil, tags = {}, more = {a = 1}, any = -9007199254740993, owner = "Ann", }
            Dog { id = 3, name = "", any = {1.5, {x = true}}, age = 1e999 } Dog { id = 4, name = "", age = (0/0) }
            """, as: "a.lua")
        #expect(
            try world.values("Dog", "name") == [
                .string("R\u{e9}x!!1!\\"), .string("M"), .string(""), .string(""),
            ])
        #expect(
            try world.values("Dog", "tags").first
                == .list([.string("a"), .string("b"), .string("long"), .string("]]")]))
        #expect(
            try world.values("Dog", "any") == [
                .int(16), .int(-9_007_199_254_740_993),
                .list([.double(1.5), .dictionary(["x": .bool(true)])]), .null,
            ])
        #expect(try world.store.objects("Dog").filtered("owner.name == 'Ann'").count() == 1)
        #expect(try world.values("Dog", "age")[2] == .double(.infinity))
    }

    @Test(arguments: [
        "return { Dog = { {id = 1, name = 'a'}, {id = 2, name = 'b'} }, Person = {} }",
        "return { {id = 1, name = 'a'}, {id = 2, name = 'b'}, };",
    ])
    func `a returned table is imported`(text: String) throws {
        let world = try TransferWorld(Self.dogs)
        #expect(try world.take(text, as: "a.lua", ImportOptions(class: "Dog")).created == 2)
    }

    @Test(arguments: [
        ("os.execute 'x'", "line 1: expected data"),
        ("\nlocal x = 1", "line 2: expected data"),
        ("for i = 1, 2 do end", "line 1: expected data"),
        ("Dog(function() end)", "expected data"),
        ("Dog {id = f()}", "expected a literal value, got 'f'"),
        ("Dog {id = 1 + 1}", "expected ',' or '}'"), ("Dog {id = 1", "no closing brace"),
        ("Dog {id = 1, 2}", "a list or named values, not both"),
        ("Dog {name = \"a", "no closing quote"),
        ("Dog {name = [[a", "no end"), ("Dog {name = '\\q'}", "an invalid escape"),
        ("Dog {name = '\\255'}", "not UTF-8"), ("Dog {id = 1x}", "'1x' is not a valid number"),
        ("Dog {id = -}", "is not a valid number"), ("Dog {id = 0x}", "is not a valid number"),
        ("Dog {[1] = 2}", "expected a string"), ("return 5", "expected a table"),
        ("return { 5 }", "expected an object as the row, got 5"),
        ("return {} x", "expected the end"),
        ("Dog {id = 99999999999999999999, name = 'x'}", "expects int"), ("Dgo {id = 1}", "Dgo"),
        ("Dog {id = 1, nmae = 'x'}", "did you mean 'name'?"),
        ("Dog {any = " + String(repeating: "{", count: 500), "nested more than"),
        ("\u{1B}Lua", "expected a row"),
        ("do local function part() os.exit() end part() end", "expected data"),
    ])
    func `code other than data is refused, and nothing is imported`(text: String, expected: String)
        throws
    {
        let world = try TransferWorld(Self.dogs)
        let said = message { try world.take(text, as: "a.lua", ImportOptions(class: "Dog")) }
        #expect(said.contains(expected), "\(said)")
        #expect(try world.store.objects("Dog").count() == 0)
    }

    @Test func `the types of new classes are inferred`() throws {
        let world = try TransferWorld([:])
        let report = try world.take(
            "City {id = 1, name = 'Bern', area = 51}\nCity {id = 2, name = 'Basel', area = 22.5, old = true}",
            as: "a.lua")
        #expect(report.newClasses == ["City"])
        #expect(
            try world.types("City") == [
                "id int primary", "name string", "area double", "old bool?",
            ])
    }

    @Test func `each function contains a thousand rows`() throws {
        let world = try TransferWorld(["T": ["id": "int primary"], "end": ["data": "int"]])
        try world.store.write {
            for id in 0..<2500 { try world.store.create("T", .dictionary(["id": .int(Int64(id))])) }
            try world.store.create("end", .dictionary(["data": .int(.min)]))
        }
        #expect(try Exporter(.store(world.store), as: .lua).write(to: world.path("a.lua")) == 2501)
        let text = try world.text(of: "a.lua")
        #expect(text.split(separator: "\n").count { $0 == "do local function part()" } == 4)
        #expect(text.contains("_ENV[\"end\"] {[\"$key\"] = 0, data = 0x8000000000000000}"))
        let other = try TransferWorld(nil)
        #expect(try Importer(into: other.store).read(world.path("a.lua"), as: .lua).created == 2501)
        #expect(try other.values("end", "data") == [.int(.min)])
    }
}
