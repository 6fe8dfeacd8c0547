import DataFormats
import ObjectStore
import Testing

@testable import Transfer

/// Recording the changes of a store as lines, and replaying lines as changes.
@Suite struct ChangeStreamTests {
    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("name", .string),
                Property("age", .int, isOptional: true),
                Property("owner", .object, target: "Person"),
                Property("toys", .object, collection: .list, target: "Toy"),
                Property("home", .object, target: "Place"),
                Property("marks", .int, collection: .list),
                Property("tags", .string, collection: .set),
                Property("notes", .double, isOptional: true, collection: .map),
                Property("born", .date, isOptional: true), Property("any", .mixed),
            ]),
        ClassSchema(
            "Person",
            [
                Property("name", .string, isPrimary: true),
                Property("dogs", .backlinks, origin: .init(className: "Dog", property: "owner")),
            ]),
        ClassSchema("Toy", [Property("label", .string), Property("next", .object, target: "Toy")]),
        ClassSchema(
            "Place", [Property("city", .string), Property("part", .object, target: "Place")],
            isEmbedded: true),
    ]

    private func makeStore(_ classes: [ClassSchema]? = Self.classes) throws -> Store {
        try Store(
            StoreConfiguration(.memory("changes-\(UUIDValue.random())"), schema: classes),
            scheduler: TurningScheduler())
    }

    /// The content of a store, except the numbers of objects without a primary key.
    private func content(_ store: Store) throws -> String {
        let world = try TransferWorld()
        _ = try Exporter(.store(store), as: .jsonLines).write(to: world.path("a.jsonl"))
        return try world.text(of: "a.jsonl")
    }

    /// The same content in any order, because an object that is linked before its own line is created earlier.
    private func objects(_ store: Store) throws -> [Substring] {
        try content(store).split(separator: "\n").sorted()
    }

    @Test func `every line contains version, class, primary key, and the values before and after`()
        throws
    {
        let store = try makeStore()
        var lines = ChangeLines(time: { Timestamp(microseconds: 0) })
        var text = String(decoding: try lines.header(store.view), as: UTF8.self)
        #expect(
            text.hasPrefix("{\"$changes\":1,\"version\":\(store.version),\"schema\":{\"Dog\":{"))
        #expect(text.hasSuffix("}\n"))
        text = ""
        let token = try store.observeChanges { change in
            try lines.write(ChangedObjects(change)) { text += String(decoding: $0, as: UTF8.self) }
        }
        let rex = try store.write {
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(1), "name": .string("Rex"),
                    "owner": .dictionary(["name": .string("Ann")]),
                    "home": .dictionary(["city": .string("Ur")]),
                ]))
        }
        let first = store.version
        #expect(
            text == """
                {"version":\(first),"change":"inserted","class":"Dog","key":1,"number":0,"values":{"id":1,"name":"Rex",\
                "age":null,"owner":"Ann","toys":[],"home":{"city":"Ur","part":null},"marks":[],"tags":[],"notes":{},\
                "born":null,"any":null}}
                {"version":\(first),"change":"inserted","class":"Person","key":"Ann","number":0,"values":{"name":"Ann"}}
                {"version":\(first),"change":"commit","since":\(first - 1),"count":2,"time":"1970-01-01T00:00:00Z"}

                """)
        text = ""
        try store.write {
            try rex.set("age", .int(4))
            // A change of an embedded object counts as a change of its owner.
            guard case .object(let home) = try rex.value("home") else { return }
            try store.object(home)?.set("city", .string("Uruk"))
        }
        #expect(
            text.hasPrefix(
                """
                {"version":\(first + 1),"change":"modified","class":"Dog","key":1,"values":{"age":4,\
                "home":{"city":"Uruk","part":null}},"old":{"age":null,"home":{"city":"Ur","part":null}}}

                """))
        text = ""
        let toy = try store.write {
            try store.create("Toy", .dictionary(["label": .string("ball")]))
        }
        #expect(text.contains("\"class\":\"Toy\",\"key\":{\"$key\":\(toy.key.rawValue)}"))
        text = ""
        try store.write { try store.delete(rex) }
        #expect(
            text.contains(
                "\"change\":\"deleted\",\"class\":\"Dog\",\"key\":1,\"old\":{\"id\":1,\"name\":\"Rex\""
            ))
        text = ""
        try store.define([ClassSchema("New", [Property("a", .int)])])
        #expect(text.contains("\"change\":\"schema\",\"schema\":{") && text.contains("\"New\""))
        withExtendedLifetime(token) {}
    }

    @Test func `replaying a recording creates the same store, step by step`() throws {
        let world = try TransferWorld()
        let path = world.path("b.jsonl")
        let store = try makeStore()
        let recording = try ChangeRecording(of: store, to: path)
        let part = Value.dictionary(["city": .string("x")])
        let dog = try store.write {
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(2), "name": .string("Rex"),
                    "owner": .dictionary(["name": .string("Ann")]),
                    "home": .dictionary(["city": .string("Ur"), "part": part]),
                    "any": .list([.int(1), .dictionary(["a": .data([1, 2])])]),
                ]))
        }
        try store.define([ClassSchema("Extra", [Property("id", .int, isPrimary: true)])])
        try store.write {
            // Reuses the key in the transaction that deletes the other object.
            try store.delete(dog)
            try store.create("Dog", .dictionary(["id": .int(2), "name": .string("again")]))
            try store.create("Extra", .dictionary(["id": .int(1)]))
        }
        try store.undo()
        #expect(recording.steps == 4 && recording.isActive)
        recording.stop()
        try store.write { try store.deleteAll("Extra") }
        #expect(!recording.isActive && recording.steps == 4)

        let copy = try makeStore(nil)
        var observed = 0
        let token = try copy.observeChanges { _ in observed += 1 }
        let replay = ChangeReplay(into: copy)
        try replay.run(path)
        // The schema change is not a transaction of objects.
        #expect(replay.steps == 3 && observed >= 3)
        #expect(try content(copy) == content(store))
        withExtendedLifetime(token) {}
    }

    @Test func `older objects without a primary key are found by their numbers`() throws {
        let world = try TransferWorld()
        func start() throws -> (Store, LiveObject) {
            let store = try makeStore()
            let toy = try store.write {
                try store.create("Toy", .dictionary(["label": .string("old")]))
            }
            return (store, toy)
        }
        let (store, toy) = try start()
        let recording = try ChangeRecording(of: store, to: world.path("b.jsonl"))
        try store.write {
            try toy.set("label", .string("new"))
            try store.create(
                "Toy", .dictionary(["label": .string("x"), "next": .object(toy.reference)]))
        }
        recording.stop()
        let (copy, other) = try start()
        try ChangeReplay(into: copy).run(world.path("b.jsonl"))
        #expect(try other.value("label") == .string("new"))
        #expect(try content(copy) == content(store))
    }

    /// Links in mixed values, alone and inside lists and maps: to both kinds of classes, to the same object, and to
    /// later objects.
    private func linkInMixed(_ store: Store) throws {
        try store.write {
            let first = try store.create(
                "Dog", .dictionary(["id": .int(1), "name": .string("Rex"), "age": .null]))
            let toy = try store.create("Toy", .dictionary(["label": .string("ball")]))
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(2), "name": .string("Max"), "age": .null,
                    "any": .list([
                        .object(first.reference),
                        .dictionary(["toy": .object(toy.reference), "none": .null]),
                    ]),
                ]))
            let last = try store.create(
                "Dog", .dictionary(["id": .int(3), "name": .string("Cleo"), "age": .null]))
            try first.set("any", .object(last.reference))
            try last.set("any", .object(last.reference))
        }
    }

    /// The class that links precedes the class of the restored object.
    @Test func `replaying an undone deletion restores the links to the object`() throws {
        let classes = [
            ClassSchema("Link", [Property("to", .object, target: "Part")]),
            ClassSchema("Part", [Property("name", .string)]),
        ]
        let store = try makeStore(classes)
        let world = try TransferWorld()
        let recording = try ChangeRecording(of: store, to: world.path("a.jsonl"))
        let part = try store.write {
            let part = try store.create("Part", .dictionary(["name": .string("wheel")]))
            _ = try store.create("Link", .dictionary(["to": .object(part.reference)]))
            return part
        }
        try store.write { try store.delete(part) }
        _ = try store.undo()
        recording.stop()
        let other = try makeStore(classes)
        let replay = ChangeReplay(into: other)
        try replay.run(world.path("a.jsonl"))
        #expect(replay.steps == 3)
        let link = try #require(try other.objects("Link").first())
        guard case .object(let found) = try link.value("to") else {
            Issue.record("the link was lost")
            return
        }
        #expect(try other.object(found)?.value("name") == .string("wheel"))
        #expect(try other.objects("Part").count() == 1)
    }

    @Test(arguments: ["m.jsonl", "m.json", "m.lua", "m.sqlite"])
    func `links in mixed values are exported and imported`(name: String) throws {
        let world = try TransferWorld()
        let store = try makeStore()
        try linkInMixed(store)
        let format = try TransferFormat(path: name)
        _ = try Exporter(.store(store), as: format).write(to: world.path(name))
        let copy = try makeStore(nil)
        _ = try Importer(into: copy).read(world.path(name), as: format)
        #expect(try objects(copy) == objects(store))
    }

    @Test(arguments: [
        (#"["Nope",1]"#, "there is no class 'Nope'"),
        (#"["Dog"]"#, "expected an array of a class and a key"),
        (#"["Dog","x"]"#, "'Dog.id' expects int"), (#"["Dog",77]"#, "links to Dog 77"),
        (#"["Toy",77]"#, "\"$link\" links to Toy, which has no primary key"),
        (#"["Place",{"$key":0}]"#, "which is embedded"),
    ]) func `a link to a missing object in a mixed value is an error`(link: String, message: String)
        throws
    {
        let world = try TransferWorld()
        let row = #"{"$class":"Dog","id":9,"name":"a","age":null,"any":{"$link":"# + link + "}}\n"
        let path = try world.write(row, to: "l.jsonl")
        let error = #expect(throws: FormatError.self) {
            try Importer(into: makeStore()).read(path, as: .jsonLines)
        }
        #expect(
            error?.line == 1 && error?.reason.contains(message) == true, "\(error?.reason ?? "")")
    }

    @Test func `a schema change with data loss or a migration is replayed`() throws {
        let world = try TransferWorld()
        func classes(_ properties: [Property]) -> [ClassSchema] {
            [ClassSchema("Dog", [Property("id", .int, isPrimary: true)] + properties)]
        }
        let store = try makeStore(classes([Property("age", .int), Property("gone", .int)]))
        let recording = try ChangeRecording(of: store, to: world.path("s.jsonl"))
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1), "age": .int(3), "gone": .int(4)]))
        }
        try store.redefine(classes([Property("age", .int)]))
        try store.redefine(classes([Property("age", .string)])) { migration in
            try migration.each("Dog") { old, new in
                try new.set("age", .string("\(try old.value("age").summary) years"))
            }
        }
        recording.stop()
        let copy = try makeStore(nil)
        try ChangeReplay(into: copy).run(world.path("s.jsonl"))
        #expect(try content(copy) == content(store))
        #expect(try copy.object("Dog", primaryKey: .int(1))?.value("age") == .string("3 years"))
    }

    @Test func `a recording replaces only another recording`() throws {
        let store = try makeStore()
        let world = try TransferWorld()
        let path = try world.write("{\"name\":\"my only copy\"}\n", to: "a.jsonl")
        let said = message { _ = try ChangeRecording(of: store, to: path) }
        #expect(said.contains("cannot write \(path): the file exists and has other content"))
        #expect(try world.text(of: "a.jsonl") == "{\"name\":\"my only copy\"}\n")
        let fresh = try world.write("", to: "b.jsonl")
        for _ in 1...2 {
            let recording = try ChangeRecording(of: store, to: fresh)
            try store.write { _ = try store.create("Toy", .dictionary(["label": .string("x")])) }
            try store.refresh()
            recording.stop()
            #expect(try world.text(of: "b.jsonl").split(separator: "\n").count == 3)
        }
    }

    @Test func `a file has one recording at a time`() throws {
        let store = try makeStore()
        let world = try TransferWorld()
        let path = world.path("a.jsonl")
        let recording = try ChangeRecording(of: store, to: path)
        try store.write { _ = try store.create("Toy", .dictionary(["label": .string("x")])) }
        let said = message { _ = try ChangeRecording(of: store, to: path) }
        #expect(
            said.contains("cannot write \(path): another recording writes to this file"), "\(said)")
        try store.write { _ = try store.create("Toy", .dictionary(["label": .string("y")])) }
        recording.stop()
        #expect(try world.text(of: "a.jsonl").split(separator: "\n").count == 5)
        try ChangeRecording(of: store, to: path).stop()
    }

    @Test func `invalid lines are reported, and their step is rolled back`() throws {
        let world = try TransferWorld()
        let header =
            "{\"$changes\":1,\"version\":1,\"schema\":{\"A\":{\"id\":\"int primary\",\"x\":\"int?\"}}}\n"
        func error(_ text: String) throws -> String {
            let store = try makeStore(nil)
            let path = try world.write(text, to: "b.jsonl")
            let message = message { try ChangeReplay(into: store).run(path) }
            #expect(!store.isInWrite)
            if store.schema.find("A") != nil { #expect(try store.objects("A").count() <= 1) }
            return message
        }
        let one =
            "{\"version\":2,\"change\":\"inserted\",\"class\":\"A\",\"key\":1,\"values\":{\"id\":1}}\n"
        let end = "{\"version\":2,\"change\":\"commit\",\"since\":1,\"count\":1}\n"
        #expect(try error(header + one + end) == "nothing was wrong")
        #expect(try error("{\"id\":1}\n").contains("b.jsonl, line 1: the file is not a recording"))
        #expect(
            try error(header + one + end.replacing("\"count\":1", with: "\"count\":2"))
                .contains(
                    "b.jsonl, line 3: the recording is incomplete: lines of the step: 1, by its last line: 2"
                ))
        #expect(
            try error(header + one + end.replacing(",\"count\":1", with: "")) == "nothing was wrong"
        )
        #expect(try error("{\"$changes\":2}\n").contains("format 2"))
        #expect(try error(header + "nonsense\n").contains("line 2"))
        #expect(try error(header + "[]\n").contains("line 2: expected an object on the line"))
        #expect(try error(header + one).contains("line 2: the file ends inside a step"))
        #expect(try error(header + one + end + one + end).contains("line 4"))
        #expect(
            try error(
                header + one + end
                    + "{\"change\":\"modified\",\"class\":\"A\",\"key\":7,\"values\":{\"x\":1}}\n"
            ).contains("line 4: the store has no 'A' with the key 7"))
        #expect(try error(header + "{\"change\":\"eaten\"}\n").contains("line 2: expected deleted"))
        #expect(try error(header + "{\"change\":\"deleted\"}\n").contains("no \"class\""))
        #expect(
            try error(header + "{\"change\":\"deleted\",\"class\":\"B\",\"key\":1}\n")
                .contains("line 2"))
        #expect(
            try error(
                header
                    + "{\"change\":\"inserted\",\"class\":\"A\",\"key\":1,\"values\":{\"y\":1}}\n"
            ).contains("no property 'y'"))
        #expect(
            try error(
                header + "{\"change\":\"inserted\",\"class\":\"A\",\"key\":1,\"values\":3}\n"
            ).contains("no \"values\""))
    }
}

/// A thread whose loop never runs.
private struct TurningScheduler: Scheduler, @unchecked Sendable {
    // Unchecked because it has no state.
    var isOnThread: Bool { true }
    var canDeliver: Bool { true }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { StillScheduler.Never() }
}
