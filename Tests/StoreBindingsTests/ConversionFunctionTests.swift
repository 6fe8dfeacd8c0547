import ObjectStore
import StoreBindings
import TestThreads
import Testing

/// The functions of a started migration, which convert each object when it is written.
@Suite struct ConversionFunctionTests {
    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    private static let text = Value.string("")
    private static let old = [
        ClassSchema("Owner", [Property("name", .string)]),
        ClassSchema("Chip", [Property("code", .string)], isEmbedded: true),
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("age", .int),
                Property("first", .string, defaultValue: text),
                Property("last", .string, defaultValue: text),
                Property("tags", .string, collection: .list),
                Property("owner", .object, target: "Owner"),
                Property("chip", .object, target: "Chip"),
            ]),
    ]
    private static let new = [
        old[0], old[1],
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("age", .int),
                Property("name", .string, defaultValue: text),
                Property("adult", .bool, defaultValue: .bool(false)),
                Property("labels", .string, collection: .set),
                Property("keeper", .object, target: "Owner"),
                Property("code", .string, isOptional: true),
                Property("owner", .object, target: "Owner"),
                Property("chip", .object, target: "Chip"),
            ]),
    ]
    private static let code = """
        local names = require "names"
        return {
          each = { Dog = {
            up = function(old, new)
              if old.first == "bad" then error("a bad name") end
              new.name = names.join(old.first, old.last)
              new.adult = old.age > 1
              new.labels = old.tags
              new.keeper = old.owner
              new.code = old.chip and old.chip.code
            end,
            down = function(new, old)
              old.first, old.last = new.name:match "^(%S*) ?(.*)$"
              old.tags = new.labels
            end,
          } },
        }
        """
    private static let helper = """
        return { join = function(a, b) return a .. " " .. b end }
        """

    private func open(
        _ version: UInt64 = 0, _ classes: [ClassSchema]? = nil, hasLua: Bool = true
    ) throws -> Store {
        var configuration = StoreConfiguration(
            .file(folder.file("dogs.moonpool")), schema: classes, schemaVersion: version)
        configuration.durability = .memory
        if hasLua { configuration.conversions = ScriptConversions() }
        return try Store(configuration, scheduler: ManualScheduler())
    }

    private func start(
        _ store: Store, _ code: String = code, to classes: [ClassSchema] = new,
        dropping: Set<String> = ["Dog.first", "Dog.last", "Dog.tags"]
    ) throws {
        let transaction = try store.beginMigration()
        defer { transaction.end() }
        try transaction.start(
            to: classes, version: 2, renaming: [:], dropping: dropping, number: 2, name: "names",
            checksum: "x",
            code: ConversionCode(
                fileName: "0002_names.lua", text: code, helpers: ["names.lua": Self.helper]))
    }

    private func convert(_ store: Store) throws { while try !store.convertBatch() {} }

    private func fill(_ count: Int) throws -> Store {
        let store = try open(1, Self.old)
        try store.write {
            let ann = try store.create("Owner", .list([.string("Ann")]))
            for id in 1...count {
                try store.create(
                    "Dog",
                    .dictionary([
                        "id": .int(Int64(id)), "age": .int(Int64(id)), "first": .string("F\(id)"),
                        "last": .string("L\(id)"), "tags": .list([.string("b"), .string("a")]),
                        "owner": .object(ann.reference),
                        "chip": .dictionary(["code": .string("c\(id)")]),
                    ]))
            }
        }
        return store
    }

    private func dog(_ id: Int, _ store: Store) throws -> LiveObject {
        try store.refresh()
        return try #require(try store.object("Dog", primaryKey: .int(Int64(id))))
    }

    private func value(_ name: String, _ id: Int, _ store: Store) throws -> Value {
        try store.view.value(
            #require(try store.schema.require("Dog").property(named: name)),
            of: dog(id, store).key, in: store.schema.require("Dog"))
    }

    private func failure(_ code: StoreError.Code, _ body: () throws -> Void) -> String {
        do {
            try body()
            Issue.record("no error")
        } catch {
            #expect((error as? StoreError)?.code == code, "\(error)")
            return (error as? StoreError)?.message ?? ""
        }
        return ""
    }

    @Test func `a write through one version appears in the other`() throws {
        let old = try fill(20)
        try start(old)
        try old.write { try dog(3, old).set("first", .string("Early")) }
        try convert(old)
        let new = try open(2)
        #expect(try value("name", 3, new) == .string("Early L3"))
        #expect(try value("name", 4, new) == .string("F4 L4"))
        #expect(try value("adult", 1, new) == .bool(false))
        #expect(try value("labels", 2, new) == .list([.string("a"), .string("b")]))
        #expect(try value("keeper", 2, new) == value("owner", 2, new))
        #expect(try value("code", 2, new) == .string("c2"))

        try new.write { try dog(2, new).set("name", .string("Bob Ray Lee")) }
        #expect(try value("first", 2, old) == .string("Bob"))
        #expect(try value("last", 2, old) == .string("Ray Lee"))
        // The old program writes what `down` would split in another way; the new one changes a shared property.
        try old.write {
            try dog(2, old).set("first", .string("Ann van"))
            try dog(2, old).set("last", .string("Lee"))
        }
        #expect(try value("name", 2, new) == .string("Ann van Lee"))
        try new.write { try dog(2, new).set("age", .int(1)) }
        #expect(try value("first", 2, old) == .string("Ann van"))
        // A value that is computed from a shared property follows it.
        try old.write { try dog(1, old).set("age", .int(9)) }
        #expect(try value("adult", 1, new) == .bool(true))
        // So do collections and embedded objects.
        try old.write { try dog(5, old).set("tags", .list([.string("z")])) }
        #expect(try value("labels", 5, new) == .list([.string("z")]))
        try new.write { try dog(5, new).set("labels", .list([.string("y")])) }
        #expect(try value("tags", 5, old) == .list([.string("y")]))
        try old.write {
            guard case .object(let reference) = try dog(6, old).value("chip") else { return }
            try #require(old.object(reference)).set("code", .string("new"))
        }
        #expect(try value("code", 6, new) == .string("new"))
        // Created through the new version.
        try new.write {
            try new.create(
                "Dog",
                .dictionary(["id": .int(99), "age": .int(3), "name": .string("Rex Fox")]))
        }
        #expect(try value("last", 99, old) == .string("Fox"))
        #expect(try old.verify() == [])
        for store in [old, new] { store.close() }
    }

    @Test func `a failing object is recorded before both, and refuses the write afterward`() throws
    {
        let old = try fill(5)
        try old.write { try dog(2, old).set("first", .string("bad")) }
        try start(old)
        try convert(old)
        var state = try #require(try old.startedMigration())
        #expect(!state.isReady)
        #expect(state.failures.map { "\($0.key) \($0.message)" } == ["id = 2 line 5: a bad name"])
        try old.write { try dog(2, old).set("first", .string("good")) }
        try convert(old)
        state = try #require(try old.startedMigration())
        #expect(state.isReady)
        let message = failure(.conversionFailed) {
            try old.write {
                try dog(3, old).set("first", .string("kept?"))
                try dog(2, old).set("first", .string("bad"))
            }
        }
        #expect(
            message
                == "'Dog' id = 2 cannot be converted by migration 2 (names, up, line 5): a bad name"
        )
        #expect(try value("first", 3, old) == .string("F3"))
        old.close()
    }

    @Test func `a program without Lua writes what no function converts`() throws {
        let old = try fill(5)
        try start(old)
        var plain = try open(hasLua: false)
        // Before both, the object waits for the conversion, which ends only without such a program.
        try plain.write { try dog(2, plain).set("first", .string("Plain")) }
        for _ in 0..<3 { #expect(try !old.convertBatch()) }
        #expect(try old.startedMigration()?.isReady == false)
        plain.close()
        try convert(old)
        #expect(try old.startedMigration()?.isReady == true)
        let new = try open(2)
        #expect(try value("name", 2, new) == .string("Plain L2"))
        plain = try open(hasLua: false)
        try plain.write { try plain.create("Owner", .list([.string("Eve")])) }
        let message = failure(.schemaInTransition) {
            try plain.write { try dog(2, plain).set("first", .string("no")) }
        }
        #expect(message.contains("'Dog' is converted by Lua functions of migration 2 (names)"))
        #expect(try value("first", 2, plain) == .string("Plain"))
        for store in [old, plain, new] { store.close() }
    }

    @Test func `a conversion sees what remains of a transaction`() throws {
        let old = try fill(3)
        try start(old)
        try convert(old)
        let new = try open(2)
        try old.write {
            try dog(1, old).set("first", .string("Kept"))
            _ = try? old.savepoint {
                try dog(1, old).set("last", .string("gone"))
                try dog(2, old).set("first", .string("bad"))
                throw StoreError(.invalidArgument, "rolled back")
            }
            try old.delete(dog(3, old))
        }
        #expect(try value("name", 1, new) == .string("Kept L1"))
        #expect(try value("name", 2, new) == .string("F2 L2"))
        #expect(try new.objects("Dog").count() == 2)
        for store in [old, new] { store.close() }
    }

    @Test func `an embedded class has functions of its own`() throws {
        let old = try fill(3)
        let labeled = ClassSchema(
            "Chip", [Property("label", .string, defaultValue: Self.text)], isEmbedded: true)
        try start(
            old,
            """
            return { each = { Chip = {
              up = function(old, new) new.label = "#" .. old.code end,
              down = function(new, old) old.code = new.label:sub(2) end,
            } } }
            """, to: [Self.old[0], labeled, Self.old[2]], dropping: ["Chip.code"])
        try convert(old)
        let new = try open(2)
        func chip(_ id: Int, _ store: Store) throws -> LiveObject {
            guard case .object(let reference) = try dog(id, store).value("chip") else {
                throw StoreError(.invalidObject, "no chip")
            }
            return try #require(store.object(reference))
        }
        #expect(try chip(2, new).value("label") == .string("#c2"))
        try old.write { try chip(2, old).set("code", .string("x")) }
        #expect(try chip(2, new).value("label") == .string("#x"))
        try new.write {
            try chip(3, new).set("label", .string("#y"))
            try dog(1, new).set("chip", .dictionary(["label": .string("#z")]))
        }
        #expect(try chip(3, old).value("code") == .string("y"))
        #expect(try chip(1, old).value("code") == .string("z"))
        #expect(try old.verify() == [])
        for store in [old, new] { store.close() }
    }

    @Test func `maps are set whole, and a link to an unknown class is nil`() throws {
        let before = [
            ClassSchema(
                "Box",
                [
                    Property("id", .int, isPrimary: true), Property("any", .mixed),
                    Property("counts", .int, collection: .map),
                ])
        ]
        let after = [
            ClassSchema(
                "Box",
                [
                    Property("id", .int, isPrimary: true), Property("any", .mixed),
                    Property("totals", .string, collection: .map),
                ]), ClassSchema("Extra", [Property("name", .string)]),
        ]
        let old = try open(1, before)
        try old.write {
            try old.create(
                "Box",
                .dictionary([
                    "id": .int(1), "any": .int(7),
                    "counts": .dictionary(["a": .int(1), "b": .int(2)]),
                ]))
        }
        try start(
            old,
            """
            return { each = { Box = {
              up = function(old, new)
                local totals = {}
                for key, count in pairs(old.counts) do totals[key] = count .. "!" end
                new.totals = totals
              end,
              down = function(new, old)
                local counts = {}
                for key, total in pairs(new.totals) do counts[key] = math.tointeger(total:match "%d+") end
                old.counts = counts
              end,
            } } }
            """, to: after, dropping: ["Box.counts"])
        try convert(old)
        let new = try open(2)
        func box(_ store: Store) throws -> LiveObject {
            try store.refresh()
            return try #require(try store.object("Box", primaryKey: .int(1)))
        }
        func values(_ name: String, _ store: Store) throws -> Value {
            let classSchema = try store.schema.require("Box")
            return try store.view.value(
                classSchema.requireProperty(name), of: box(store).key, in: classSchema)
        }
        #expect(
            try values("totals", new)
                == .dictionary(["a": .string("1!"), "b": .string("2!")]))
        try new.write { try box(new).set("totals", .dictionary(["c": .string("9!")])) }
        #expect(try values("counts", old) == .dictionary(["c": .int(9)]))
        try new.write {
            let extra = try new.create("Extra", .dictionary(["name": .string("new")]))
            try box(new).set("any", .object(extra.reference))
        }
        #expect(try values("any", new) != .null)
        #expect(try values("any", old) == .null)
        #expect(try old.verify() == [])
        for store in [old, new] { store.close() }
    }

    @Test func `earlier versions, copies and undo show the version of their reader`() throws {
        let old = try fill(300)
        try start(old)
        #expect(try !old.convertBatch(atMost: 1))
        // Before both, an undo converts like any write.
        try old.write { try dog(1, old).set("first", .string("Other")) }
        try old.undo()
        let copy = folder.file("copy.moonpool")
        try old.backup(to: copy)
        try convert(old)
        let new = try open(2)
        #expect(try value("name", 1, new) == .string("F1 L1"))
        try old.write { try dog(1, old).set("first", .string("Past")) }
        let past = old.version
        try old.undo()
        try new.refresh()
        for (store, name, expected) in [(old, "first", "Past"), (new, "name", "Past L1")] {
            let view = try store.at(past)
            let classSchema = try view.schema.require("Dog")
            #expect(
                try view.value(
                    classSchema.requireProperty(name), of: dog(1, store).key, in: classSchema)
                    == .string(expected))
        }
        var configuration = StoreConfiguration(.file(copy))
        configuration.conversions = ScriptConversions()
        let copied = try Store(configuration, scheduler: ManualScheduler())
        #expect(try copied.startedMigration()?.isReady == false)
        try convert(copied)
        #expect(try copied.startedMigration()?.isReady == true)
        #expect(try copied.verify() == [])
        for store in [old, new, copied] { store.close() }
    }

    @Test func `observers receive the changes of their own properties`() throws {
        let old = try fill(3)
        try start(old)
        try convert(old)
        let new = try open(2)
        var calls = 0
        let token = try new.observe { kind, _ in if kind == .didChange { calls += 1 } }
        // The function has the same result as before, because it joins the names with a space.
        try old.write {
            try dog(1, old).set("first", .string("F1 L1"))
            try dog(1, old).set("last", .string(""))
        }
        try new.refresh()
        #expect(calls == 1)  // the name has a space at its end
        try old.write { try dog(1, old).set("last", .string("")) }
        try new.refresh()
        #expect(calls == 1)
        try new.write { try dog(1, new).set("code", .string("only new")) }
        #expect(calls == 2)
        token.invalidate()
        for store in [old, new] { store.close() }
    }

    @Test func `batches do not count against the limit of the history`() throws {
        let old = try fill(300)
        try start(old)
        try old.write { try dog(1, old).set("first", .string("Other")) }
        for _ in 0..<250 { #expect(try !old.convertBatch(atMost: 1)) }
        try old.undo()
        #expect(try value("first", 1, old) == .string("F1"))
        old.close()
    }

    @Test func `a property that the function no longer sets has its default`() throws {
        let old = try fill(4)
        let code = """
            return { each = { Dog = function(old, new)
              if old.age > 2 then new.name, new.code, new.labels = "old", old.first, old.tags end
            end } }
            """
        try start(old, code)
        #expect(try !old.convertBatch(atMost: 3))
        // While objects are converted
        try old.write { try dog(3, old).set("age", .int(1)) }
        try convert(old)
        let new = try open(2)
        func row(_ id: Int) throws -> [Value] {
            try ["name", "code", "labels"].map { try value($0, id, new) }
        }
        let unset: [Value] = [.string(""), .null, .list([])]
        func set(_ first: String) -> [Value] {
            [.string("old"), .string(first), .list([.string("a"), .string("b")])]
        }
        #expect(try row(3) == unset)
        #expect(try row(4) == set("F4"))
        // While both versions are in use
        try old.write { try dog(4, old).set("age", .int(1)) }
        #expect(try row(4) == unset)
        try old.write { try dog(2, old).set("age", .int(9)) }
        #expect(try row(2) == set("F2"))
        for store in [old, new] { store.close() }
    }

    @Test func `undo restores both versions without functions`() throws {
        let old = try fill(3)
        try start(old)
        try convert(old)
        let new = try open(2)
        try old.write { try dog(1, old).set("first", .string("Other name")) }
        try old.undo()
        #expect(try value("name", 1, new) == .string("F1 L1"))
        #expect(try value("first", 1, old) == .string("F1"))
        try new.redo()
        #expect(try value("name", 1, new) == .string("Other name L1"))
        for store in [old, new] { store.close() }
    }

    @Test(arguments: [
        ("new.age = 1", "both versions share its values"),
        ("new.nmae = 'x'", "no property 'nmae'"),
        ("new.name = new.name", "has no value yet"),
        ("new.name = old.owner.name", "reads only its own object"),
        ("new.name = 7", "expects string"), ("new.name = nil", "required"),
        ("old.first = 'x'", "is the source of the conversion"),
        ("count = 1", "cannot assign to the global 'count'"),
        ("new.name = tostring(os)..tostring(print)..tostring(io)..tostring(math.random)", ""),
        ("new.name = tostring(moonpool.uuid())", "needs a value in a conversion"),
        ("while true do end", "the limit of 1000000 instructions was reached"),
        ("local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1000) .. i end", "memory"),
        ("pcall(function() new.name = 'set' error('x') end) new.adult = true", ""),
    ])
    func `a function depends on one object and sets its own properties`(
        body: String, expected: String
    ) throws {
        let old = try fill(1)
        var found = ""
        do {
            try start(old, "return { each = { Dog = function(old, new) \(body) end } }")
            try convert(old)
            found = try old.startedMigration()?.failures.first?.message ?? ""
        } catch {
            found = (error as? StoreError)?.message ?? "\(error)"
        }
        #expect(expected.isEmpty ? found.isEmpty : found.contains(expected), "\(found)")
        old.close()
    }

    @Test func `start refuses code that cannot be loaded`() throws {
        let old = try fill(1)
        let version = old.version
        #expect(failure(.invalidArgument) { try start(old, "return {") }.contains("near <eof>"))
        #expect(
            failure(.invalidArgument) { try start(old, "return { each = { Cat = {} } }") }
                .contains("each has functions of 'Cat'"))
        #expect(
            failure(.invalidArgument) { try start(old, "return require 'other'") }
                .contains("module 'other' is not a file of the migration's folder"))
        #expect(old.version == version)
        old.close()
    }
}
