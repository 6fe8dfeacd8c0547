import Glibc
import Testing

@testable import ObjectStore

/// Observers of data that cannot be read in some version.
@Suite struct UnreadableVersionTests {
    let folder = TemporaryFolder.inMemory()

    private static let schema = [
        ClassSchema(
            "Person", "id: int primary, name: string, age: int",
            defaults: ["name": .string(""), "age": .int(1)]),
        ClassSchema("Dog", "id: int primary, owner: Person"),
    ]

    /// Creates a closed store whose dogs belong to the first of many people.
    private func makeStore() throws -> String {
        let path = folder.path + "/dogs.moonpool"
        let store = try DamagedStore.open(path, schema: Self.schema)
        defer { store.close() }
        try store.write {
            for id in 1...3000 {
                let name = "person-" + String(10000 + id)
                try store.create(
                    "Person",
                    .dictionary(["id": .int(Int64(id)), "name": .string(name), "age": .int(1)]))
            }
            for id in 1...6 {
                let owner = try #require(try store.object("Person", primaryKey: .int(Int64(id))))
                try store.create(
                    "Dog", .dictionary(["id": .int(Int64(id)), "owner": .object(owner.reference)]))
            }
        }
        return path
    }

    /// Changes a byte of the name of person 2000, or restores it.
    private func setDamage(_ isDamaged: Bool, _ path: String) throws {
        let names = ["person-12000", "pXrson-12000"].map { Array($0.utf8) }
        let bytes = DamagedStore.bytes(path)
        let wanted = names[isDamaged ? 0 : 1]
        let start = try #require(
            (0..<bytes.count - wanted.count).first {
                bytes[$0] == wanted[0] && bytes[$0 + 1] == wanted[1]
                    && bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
            })
        let file = Glibc.open(path, O_RDWR)
        defer { Glibc.close(file) }
        var byte = names[isDamaged ? 1 : 0][1]
        #expect(pwrite(file, &byte, 1, off_t(start + 1)) == 1)
    }

    private func setOwner(_ person: Int64, ofDog dog: Int64, in store: Store) throws {
        try store.write { () in
            let dog = try #require(try store.object("Dog", primaryKey: .int(dog)))
            let owner = try #require(try store.object("Person", primaryKey: .int(person)))
            try dog.set("owner", .object(owner.reference))
        }
        try store.refresh()
    }

    /// Damages the data that an observation must read, then restores it, with a commit after each.
    private func observe(
        _ observation: (Store) throws -> (token: NotificationToken, errors: () -> [String])
    ) throws {
        let path = try makeStore()
        let store = try DamagedStore.open(path)
        defer { store.close() }
        let (token, errors) = try observation(store)
        try store.refresh()
        #expect(errors() == [])
        try setDamage(true, path)
        try setOwner(2000, ofDog: 3, in: store)
        #expect(errors() == ["file_corrupt"])
        try store.refresh()
        #expect(errors() == ["file_corrupt"], "the same version is not reported twice")
        try setOwner(7, ofDog: 2, in: store)
        #expect(errors() == ["file_corrupt", "file_corrupt"])
        #expect(token.isValid)
        try setDamage(false, path)
        try setOwner(8, ofDog: 1, in: store)
        #expect(errors() == ["file_corrupt", "file_corrupt"])
    }

    private static let queries: [String] = [
        "owner.name beginswith 'person'", "owner.name > 'person-10002'",
        "owner.name beginswith 'person' sort(owner.name desc)",
        "owner.name beginswith 'person' sort(owner.name desc) limit(2)",
        "owner.name beginswith 'person' distinct(owner.name)",
        "owner.name beginswith 'person' sort(owner.name) distinct(owner.name) limit(3)",
    ]

    @Test(arguments: queries)
    func `An observer continues with exact changes after versions that it cannot read`(
        query: String
    ) throws {
        try observe { store in
            let results = try store.objects("Dog").filtered(query)
            var errors: [String] = []
            var shown: [ObjectReference] = []
            let token = try results.observe { change in
                if case .error(let error) = change.kind {
                    return errors.append(error.code.rawValue)
                }
                if case .initial = change.kind { shown = Array(try Self.rows(results)) }
                for index in change.deletions.reversed() { shown.remove(at: index) }
                for (index, object) in zip(change.insertions, change.insertedObjects) {
                    shown.insert(object, at: index)
                }
                let rows = try Self.rows(results)
                #expect(shown == rows)
            }
            return (token, { errors })
        }
    }

    private static func rows(_ results: Results) throws -> [ObjectReference] {
        try (0..<results.count()).map { try results.object(at: $0).reference }
    }

    @Test func `An observer that cannot read its first version begins with the next one`() throws {
        let path = try makeStore()
        let store = try DamagedStore.open(path)
        defer { store.close() }
        try setOwner(2000, ofDog: 3, in: store)
        try setDamage(true, path)
        var calls: [String] = []
        let results = try store.objects("Dog").filtered("owner.name beginswith 'person'")
        let token = try results.observe { change in
            switch change.kind {
            case .initial: calls.append("initial \(try results.count())")
            case .error(let error): calls.append(error.code.rawValue)
            default: calls.append("\(change.modifications)")
            }
        }
        try store.refresh()
        #expect(calls == ["file_corrupt"])
        try setDamage(false, path)
        try setOwner(7, ofDog: 2, in: store)
        #expect(calls == ["file_corrupt", "initial 6"])
        token.invalidate()
    }

    @Test func `An observer of sections continues after versions that it cannot read`() throws {
        try observe { store in
            let sections = try store.objects("Dog").grouped(by: "owner.name")
            var errors: [String] = []
            var count = 0
            let token = try sections.observe { change in
                switch change.kind {
                case .error(let error): errors.append(error.code.rawValue)
                case .initial: count = try sections.count()
                case .update:
                    count += change.sectionInsertions.count - change.sectionDeletions.count
                    let all = try sections.count()
                    #expect(count == all)
                }
            }
            return (token, { errors })
        }
    }

    @Test func `Aggregates report errors and continue after versions that they cannot read`() throws
    {
        try observe { store in
            var errors: [String] = []
            store.notifications.errorHandler = { error, _ in
                errors.append((error as? StoreError)?.code.rawValue ?? "\(error)")
            }
            var last: Value?
            let results = try store.objects("Dog").filtered("owner.name beginswith 'person'")
            let token = try results.observeAggregate(.count) { new, old in
                #expect(old == last)
                last = new
            }
            return (token, { errors })
        }
    }

    @Test func `Groups report errors and continue after versions that they cannot read`() throws {
        try observe { store in
            var errors: [String] = []
            store.notifications.errorHandler = { error, _ in
                errors.append((error as? StoreError)?.code.rawValue ?? "\(error)")
            }
            var counts: [Value: Value] = [:]
            let sections = try store.objects("Dog").grouped(by: "owner.name")
            let token = try sections.observeAggregate(.count) { changes in
                for change in changes {
                    #expect(change.old == counts[change.key])
                    counts[change.key] = change.new
                }
                let keys = Set(try sections.keys())
                #expect(Set(counts.keys) == keys)
            }
            return (token, { errors })
        }
    }

    @Test func `Every reader of damaged data throws`() throws {
        let path = try makeStore()
        try setDamage(true, path)
        let store = try DamagedStore.open(path)
        defer { store.close() }
        let people = try store.objects("Person")
        let readers: [(String, () throws -> Void)] = [
            ("where", { _ = try people.filtered("name beginswith 'person'").count() }),
            ("keys", { _ = try people.filtered("name contains 'x'").keys() }),
            ("sorted", { _ = try people.sorted([(path: "name", ascending: true)]).keys() }),
            ("distinct", { _ = try people.distinct(["name"]).count() }),
            ("sections", { _ = try people.grouped(by: "name").count() }),
            ("count of", { _ = try people.count(of: "name") }),
            (
                "aggregate observer",
                {
                    _ = try people.filtered("name beginswith 'person'").observeAggregate(.count) {
                        _, _ in
                    }
                }
            ),
            ("value", { _ = try store.object("Person", primaryKey: .int(2000))?.value("name") }),
        ]
        for (name, read) in readers {
            let error = #expect(throws: StoreError.self, "\(name)") { try read() }
            #expect(error?.code == .fileCorrupt, "\(name)")
        }
        #expect(try people.filtered("id < 10").count() == 9)
        try store.write {
            try store.create("Person", .dictionary(["id": .int(5000), "name": .string("new")]))
        }
        #expect(try people.count() == 3001)
    }

    @Test func `An interrupted query throws and does not affect the next one`() throws {
        let store = try DamagedStore.open(
            folder.path + "/interrupted.moonpool", schema: Self.schema)
        defer { store.close() }
        try store.write {
            for id in 1...5000 { try store.create("Person", .dictionary(["id": .int(Int64(id))])) }
        }
        let people = try store.objects("Person").sorted([(path: "age", ascending: true)])
        let interruption = Interruption { true }
        let error = #expect(throws: StoreError.self) {
            try Interruption.$current.withValue(interruption) { try people.keys() }
        }
        #expect(error?.code == .interrupted)
        #expect(try people.count() == 5000)
        #expect(try people.keys().count == 5000)
    }
}
