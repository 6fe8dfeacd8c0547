import ObjectStore
import Testing

/// A write that changes the schema and then cannot be committed.
@Suite struct FailedCommitTests {
    private let folder = TemporaryFolder()
    private let scheduler = ManualScheduler()
    private let otherScheduler = ManualScheduler()
    private static let entry = ClassSchema("Entry", "id: int primary, text: string")
    private static let wider = ClassSchema(
        "Entry", Self.entry.properties + [Property("note", .string, defaultValue: .string("?"))])
    private static let page = ClassSchema("Page", "text: string")

    /// A file with a limit of one megabyte.
    private func open(_ scheduler: ManualScheduler) throws -> Store {
        try Store.file(
            folder.file("small.moonpool"), [Self.entry], maximumSize: 1 << 20, on: scheduler)
    }

    private func fill(_ store: Store) throws {
        try store.write {
            for id in 1...100 {
                try store.create("Entry", .list([.int(Int64(id)), .string("entry \(id)")]))
            }
        }
    }

    /// The operation that finds the device full.
    enum Moment: CaseIterable { case commit, migration }

    /// Adds a property and a class with more objects than fit into the file.
    private func overfill(
        _ store: Store, _ moment: Moment, change: @escaping () throws -> Void = {}
    ) throws {
        func fill(_ create: (Value) throws -> Void) throws {
            // This is at the beginning, because the write can fail before the last object.
            try change()
            for number in 0..<20_000 {
                let text = "\(number) " + String(repeating: "x", count: 100)
                try create(.dictionary(["text": .string(text)]))
            }
        }
        switch moment {
        case .commit:
            try store.write {
                try store.defineInWrite([Self.wider, Self.page])
                try fill { try store.create("Page", $0) }
            }
        case .migration:
            try store.redefine([Self.wider, Self.page]) { migration in
                try fill { try migration.create("Page", $0) }
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func `the store continues with the schema of the file`(moment: Moment) throws {
        let store = try open(scheduler)
        try fill(store)
        var changes: [CollectionChange] = []
        let token = try store.objects("Entry").observe { changes.append($0) }
        var shown: [[String]] = []
        store.schemaHandler = { shown.append(store.schema.classes.map(\.name).sorted()) }
        scheduler.settle()
        let first = try #require(try store.object("Entry", primaryKey: .int(1)))
        let version = store.version

        let error = storeError(.diskFull) { try overfill(store, moment) }
        #expect(error?.message.contains("maximum size") == true)
        #expect(!store.isInWrite)
        #expect(store.version == version)
        #expect(store.schema.classes.map(\.name) == ["Entry"])
        #expect(store.schema.find("Entry")?.properties.map(\.name) == ["id", "text"])
        #expect(shown.last == ["Entry"])
        _ = storeError(.unknownClass) { _ = try store.objects("Page") }
        _ = storeError(.unknownProperty) { _ = try first.value("note") }
        #expect(try first.value("text") == .string("entry 1"))
        #expect(try store.verify() == [])

        scheduler.settle()
        #expect(changes.count == 1, "the initial call only")
        try store.write { try store.create("Entry", .list([.int(101), .string("after")])) }
        scheduler.settle()
        #expect(changes.count == 2)
        #expect(changes.last?.insertions == [100])
        #expect(changes.last?.modifications == [])
        token.invalidate()

        store.close()
        let again = try open(scheduler)
        #expect(again.schema.classes.map(\.name) == ["Entry"])
        #expect(try again.objects("Entry").count() == 101)
        #expect(try again.verify() == [])
    }

    @Test(arguments: Moment.allCases)
    func `a waiting writer gets the lock, and a later schema change succeeds`(moment: Moment)
        throws
    {
        let store = try open(scheduler)
        try fill(store)
        let other = try open(otherScheduler)
        var hasRun = false
        var failure: (any Error)?
        _ = storeError(.diskFull) {
            try overfill(store, moment) {
                try other.writeAsync({
                    hasRun = true
                    try other.create("Entry", .list([.int(0), .string("waited")]))
                }) { failure = $0 }
                otherScheduler.settle()
                #expect(!hasRun)
            }
        }
        otherScheduler.settle(until: { hasRun })
        #expect(failure == nil)
        try store.refresh()
        #expect(try store.objects("Entry").count() == 101)
        try store.redefine([Self.wider, Self.page])
        #expect(try store.object("Entry", primaryKey: .int(0))?.value("note") == .string("?"))
        #expect(try store.objects("Page").count() == 0)
        #expect(try store.verify() == [])
    }
}
