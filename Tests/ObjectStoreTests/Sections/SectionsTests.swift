import ColumnStorage
import ObjectStore
import Testing

/// Observers of sections after random changes; `Tests/Specifications/sections.lua` specifies the rest.
@Suite struct SectionsTests {
    static let classes = [
        ClassSchema(
            "Dog", "name: string, breed: string?, age: int?, weight: double, owner: Person",
            defaults: ["weight": .double(0)]),
        ClassSchema("Person", "name: string"),
    ]

    let stores: StorePair
    var store: Store { stores.store }

    init() throws { stores = try StorePair(Self.classes) }

    private func dogs() throws -> Results {
        Results(.store(store), all: try store.schema.require("Dog"))
    }

    @Test func `positions out of range are refused`() throws {
        let sections = try dogs().grouped(by: "breed")
        for position in [0, -1] {
            _ = storeError(.outOfRange) { _ = try sections.section(at: position) }
        }
    }

    @Test(arguments: 1...4)
    func `the objects of many sections are those that a filter finds`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let store = try RandomWorld(&random, count: 120).world.store
        for paths in [
            ["v"], ["v", "s"], ["d", "n"], ["ed"], ["ef", "b"], ["t", "lx.s"], ["u", "ei"],
        ] {
            for (ascending, clauses) in [
                (true, ""), (false, "sort(s desc)"), (true, "sort(i asc) limit(90)"),
                (true, "distinct(s, i)"),
            ] {
                func sections() throws -> SectionedResults {
                    let all = Results(.store(store), all: try store.schema.require("A"))
                    return try SectionedResults(
                        all.filtered("TRUEPREDICATE \(clauses)"),
                        by: paths.map { ($0, ascending: ascending) })
                }
                let known = try sections()
                let unknown = try sections()
                for _ in 0..<40 / max(1, try known.count()) + 2 {
                    for position in 0..<(try known.count()) {
                        let (key, objects) = try known.section(at: position)
                        let expected = try unknown.objects(withKey: key)
                        #expect(
                            try objects.count() == expected.count(), "\(paths) \(clauses) \(key)")
                        #expect(try objects.keys().array == expected.keys().array)
                        #expect(try objects.first()?.key == expected.first()?.key)
                    }
                }
            }
        }
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
                    try store.update(people.object(at: pick(2)), ["name": .string("p\(pick(3))")])
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
