import ColumnStorage
import ObjectStore
import Testing

/// `group_by`: sections of results, and their observers.
@Suite struct SectionsTests {
    static let classes = [
        ClassSchema(
            "Dog",
            [
                Property("name", .string),
                Property("breed", .string, isOptional: true),
                Property("age", .int, isOptional: true),
                Property("weight", .double, defaultValue: .double(0)),
                Property("photo", .data, isOptional: true),
                Property("owner", .object, target: "Person"),
                Property("friends", .object, collection: .list, target: "Dog"),
            ]),
        ClassSchema("Person", [Property("name", .string)]),
    ]

    let stores: StorePair
    var store: Store { stores.store }

    init() throws { stores = try StorePair(Self.classes) }

    private func dogs() throws -> Results {
        Results(.store(store), all: try store.schema.require("Dog"))
    }

    private func add(_ rows: [(name: String, breed: String?)]) throws {
        try store.write {
            for row in rows {
                try store.create(
                    "Dog",
                    .dictionary([
                        "name": .string(row.name), "breed": row.breed.map(Value.string) ?? .null,
                    ]))
            }
        }
    }

    /// Keys and names of all sections.
    private func shape(_ sections: SectionedResults) throws -> [(Value, [Value])] {
        try (0..<sections.count()).map { index in
            let (key, objects) = try sections.section(at: index)
            let names = try (0..<objects.count()).map { try objects.object(at: $0).value("name") }
            return (key, names)
        }
    }

    @Test func `paths without an order, and positions out of range, are refused`() throws {
        for path in ["owner", "photo", "friends", "friends.name", ""] {
            _ = storeError(.invalidQuery) { _ = try dogs().grouped(by: path) }
        }
        _ = storeError(.unknownProperty) { _ = try dogs().grouped(by: "nothing") }
        let sections = try dogs().grouped(by: "breed")
        #expect(try sections.count() == 0)
        _ = storeError(.outOfRange) { _ = try sections.section(at: 0) }
        _ = storeError(.outOfRange) { _ = try sections.section(at: -1) }
        _ = storeError(.typeMismatch) { _ = try sections.objects(withKey: .int(3)) }
        _ = storeError(.typeMismatch) { _ = try sections.index(ofKey: .list([])) }
    }

    @Test func `sections are in the order of their keys, objects in the order of the results`()
        throws
    {
        try add([("b", "pug"), ("a", "mutt"), ("c", nil), ("d", "pug")])
        let sections = try dogs().sorted([("name", false)]).grouped(by: "breed")
        let shape = try shape(sections)
        #expect(shape.map(\.0) == [.null, .string("mutt"), .string("pug")])
        #expect(
            shape.map(\.1) == [[.string("c")], [.string("a")], [.string("d"), .string("b")]])
        let reversed = try dogs().grouped(by: "breed", ascending: false)
        #expect(try reversed.keys() == [.string("pug"), .string("mutt"), .null])
        #expect(try sections.index(ofKey: .string("pug")) == 2)
        #expect(try sections.index(ofKey: .null) == 0)
        #expect(try sections.index(ofKey: .string("cat")) == nil)
        #expect(try sections.objects(withKey: .string("mutt")).count() == 1)
    }

    @Test func `sections follow the data, including links and limits`() throws {
        try add([("a", "x"), ("b", "x"), ("c", "y")])
        let sections = try dogs().grouped(by: "breed")
        let (_, first) = try sections.section(at: 0)
        #expect(try first.count() == 2)
        try store.write { try store.update(dogs().object(at: 0), ["breed": .string("y")]) }
        #expect(try first.count() == 1)
        #expect(try sections.section(at: 1).objects.count() == 2)
        let limited = try dogs().limited(to: 2).grouped(by: "breed")
        #expect(try shape(limited).map(\.1.count) == [1, 1])
        let distinct = try dogs().distinct(["breed"]).grouped(by: "name")
        #expect(try shape(distinct).map(\.1) == [[.string("a")], [.string("b")]])
        try store.write {
            let ann = try store.create("Person", .dictionary(["name": .string("Ann")]))
            try store.update(dogs().object(at: 2), ["owner": .object(ann.reference)])
        }
        let owners = try dogs().grouped(by: "owner.name")
        #expect(try owners.keys() == [.null, .string("Ann")])
    }

    @Test func `NaN is one section before all other numbers, and the two zeros share one`() throws {
        try store.write {
            for weight in [Double.nan, 0.0, -0.0, 2.5, .nan] {
                try store.create(
                    "Dog", .dictionary(["name": .string("n"), "weight": .double(weight)]))
            }
        }
        let sections = try dogs().grouped(by: "weight")
        #expect(try shape(sections).map(\.1.count) == [2, 2, 1])
    }

    /// The reported changes of an observer, applied to its known state.
    private final class Follower {
        var sections: [[Int64]] = []
        var isFollowing = false

        static func present(_ sections: SectionedResults) throws -> [[Int64]] {
            try (0..<sections.count()).map { index in
                try sections.section(at: index).objects.keys().map(\.rawValue)
            }
        }

        func receive(_ change: SectionedChange, _ source: SectionedResults) throws {
            let now = try Self.present(source)
            if case .initial = change.kind {
                sections = now
                isFollowing = true
                return
            }
            #expect(isFollowing)
            let surviving = change.sections
            for rows in surviving {
                for position in rows.deletions.reversed() {
                    sections[rows.sectionBefore].remove(at: position)
                }
            }
            for position in change.sectionDeletions.reversed() { sections.remove(at: position) }
            for position in change.sectionInsertions {
                sections.insert(now[position], at: position)
            }
            for rows in surviving {
                for position in rows.insertions {
                    sections[rows.section].insert(now[rows.section][position], at: position)
                }
                #expect(rows.modifications.count == rows.modificationsNew.count)
            }
            #expect(sections == now)
        }
    }

    @Test func `an observer receives a row that changes its section and keeps its position`() throws
    {
        try add([("a", "x"), ("b", "x"), ("c", "y")])
        let sections = try dogs().grouped(by: "breed")
        var changes: [SectionedChange] = []
        let token = try sections.observe(keyPaths: ["name"]) { changes.append($0) }
        stores.settle()
        try store.write { try store.update(dogs().object(at: 1), ["breed": .string("y")]) }
        stores.settle()
        try store.write { try store.update(dogs().object(at: 1), ["age": .int(5)]) }
        stores.settle()
        try store.write { try store.update(dogs().object(at: 1), ["name": .string("z")]) }
        stores.settle()
        #expect(changes.count == 3)
        let moved = changes[1]
        #expect(moved.sectionDeletions.isEmpty && moved.sectionInsertions.isEmpty)
        #expect(moved.sections.map(\.section) == [0, 1])
        #expect(moved.sections[0].deletions == [1] && moved.sections[1].insertions == [0])
        #expect(changes[2].sections.first?.modifications == [0])
        token.invalidate()
    }

    @Test func `deleting the owner of a list causes the last call of its sections`() throws {
        try add([("a", "x"), ("b", "y")])
        try store.write {
            let all = try dogs()
            try store.update(
                all.object(at: 0), ["friends": .list([.object(all.object(at: 1).reference)])])
        }
        let list = try dogs().object(at: 0).list("friends")
        let sections = try Results(list).grouped(by: "breed")
        var changes: [SectionedChange] = []
        let token = try sections.observe { changes.append($0) }
        stores.settle()
        try store.write { try store.delete(dogs().object(at: 0)) }
        stores.settle()
        #expect(changes.count == 2)
        #expect(changes[1].sectionDeletions == [0] && !changes[1].isCollectionValid)
        #expect(!token.isValid)
    }

    @Test(arguments: 1...8)
    func `reported changes convert each state to the next`(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        func pick(_ count: UInt64) -> Int { Int(random.next() % count) }
        func values() -> ValueMap {
            [
                "name": .string("n\(pick(4))"),
                "breed": pick(6) == 0 ? .null : .string(["a", "b", "c", "d"][pick(4)]),
                "age": pick(6) == 0 ? .null : .int(Int64(pick(5))),
                "weight": .double([0, -0.0, 1.5, .nan][pick(4)]),
            ]
        }
        let grouped = [
            try dogs().grouped(by: "breed"),
            try dogs().grouped(by: "age", ascending: false),
            try dogs().filtered("age > 1").sorted([("name", false)]).grouped(by: "breed"),
            try dogs().sorted([("name", true)]).limited(to: 7).grouped(by: "breed"),
            try dogs().grouped(by: "weight"),
            try dogs().grouped(by: "owner.name"),
        ]
        var tokens: [NotificationToken] = []
        let followers = grouped.map { _ in Follower() }
        for (sections, follower) in zip(grouped, followers) {
            tokens.append(
                try sections.observe(keyPaths: pick(2) == 0 ? [] : ["name"]) {
                    try follower.receive($0, sections)
                })
        }
        try store.write {
            for name in ["Ann", "Bob"] {
                try store.create("Person", .dictionary(["name": .string(name)]))
            }
        }
        stores.settle()
        for _ in 0..<25 {
            try store.write {
                for _ in 0..<pick(6) { try store.create("Dog", .dictionary(values())) }
                let people = Results(.store(store), all: try store.schema.require("Person"))
                for key in try dogs().keys().array where pick(5) == 0 {
                    let object = try #require(
                        store.object(
                            ObjectReference(table: store.schema.require("Dog").table, key: key)))
                    switch pick(5) {
                    case 0: try store.delete(object)
                    case 1:
                        let owner = try people.object(at: pick(2)).reference
                        try store.update(object, ["owner": .object(owner)])
                    default: try store.update(object, values())
                    }
                }
                if pick(4) == 0 {
                    try store.update(
                        people.object(at: pick(2)), ["name": .string("p\(pick(3))")])
                }
            }
            stores.settle()
            for (sections, follower) in zip(grouped, followers) {
                #expect(try Follower.present(sections) == follower.sections)
            }
        }
        withExtendedLifetime(tokens) {}
    }
}
