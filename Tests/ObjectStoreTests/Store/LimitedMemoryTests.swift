import MemoryAccounts
import Synchronization
import Testing

@testable import ColumnStorage
@testable import ObjectStore

/// The memory that scripts with a limit may use while they query and write.
@Suite struct LimitedMemoryTests {
    private let folder = TemporaryFolder.inMemory()
    private let store: Store
    private static let indexed = (0..<8).flatMap { ["i\($0)", "s\($0)"] }

    init() throws {
        store = try Store(
            StoreConfiguration(
                .file(folder.path + "/limited.moonpool"),
                schema: [
                    ClassSchema("Word", [Property("text", .string), Property("number", .int)]),
                    ClassSchema(
                        "Entry",
                        Self.indexed.map {
                            Property($0, $0.hasPrefix("i") ? .int : .string, isIndexed: true)
                        }),
                ]), scheduler: ManualScheduler())
        try store.write {
            for number in 0..<8000 {
                try store.create(
                    "Word",
                    .dictionary([
                        "text": .string(
                            "a text that is longer than a code \(number * 7919 % 8000)"),
                        "number": .int(Int64(number)),
                    ]))
            }
        }
    }

    private func limited<Result>(
        to limit: Int, _ body: (MemoryAccount) throws -> Result
    ) rethrows -> Result {
        let account = MemoryAccount(limit: limit)
        return try MemoryAccount.$current.withValue(account) {
            try Interruption.$current.withValue(Interruption { false }) { try body(account) }
        }
    }

    private func words() throws -> Results { try store.objects("Word") }

    @Test func `The indexes of a long write share the memory, and are complete`() throws {
        var generator = SplitMix(seed: 30)
        try limited(to: 4 << 20) { account in
            try store.beginWrite()
            let before = account.bytes
            for _ in 0..<3000 {
                let number = Int64.random(in: 0..<1000, using: &generator)
                try store.create(
                    "Entry",
                    .dictionary(
                        Dictionary(
                            uniqueKeysWithValues: Self.indexed.map {
                                ($0, $0.hasPrefix("i") ? .int(number) : .string("text \(number)"))
                            })))
            }
            #expect(account.bytes > before + 64 << 10)
            try store.commitWrite()
            #expect(account.peak <= account.capacity)
        }
        #expect(try store.verify().isEmpty)
        for name in Self.indexed {
            let number = try store.objects("Entry").filtered(
                name.hasPrefix("i") ? "\(name) == 7" : "\(name) == 'text 7'")
            #expect(try number.count() == store.objects("Entry").filtered("i0 == 7").count())
        }
    }

    @Test func `An index that is built under a limit is complete`() throws {
        let limit = 1 << 20
        try limited(to: limit) { account in
            try store.define([
                ClassSchema(
                    "Word",
                    [
                        Property("text", .string, isIndexed: true),
                        Property("number", .int, isIndexed: true),
                    ])
            ])
            #expect(account.peak <= account.capacity)
        }
        #expect(try store.verify().isEmpty)
        for number in stride(from: 0, to: 8000, by: 97) {
            let text = "a text that is longer than a code \(number)"
            #expect(try store.objects("Word").filtered("text == $1", [.string(text)]).count() == 1)
        }
        #expect(try store.objects("Word").filtered("number < 5000").count() == 5000)
    }

    @Test func `An observer counts the values that it keeps`() throws {
        let notes = try Store(
            StoreConfiguration(
                .file(folder.path + "/notes.moonpool"),
                schema: [
                    ClassSchema(
                        "Note",
                        [Property("any", .mixed), Property("texts", .string, collection: .list)])
                ]), scheduler: ManualScheduler())
        let texts = (0..<500).map { Value.string("\($0)" + String(repeating: "x", count: 1000)) }
        let note = try notes.write {
            try notes.create("Note", .dictionary(["any": .list(texts), "texts": .list(texts)]))
        }
        let property = try #require(note.classSchema.property(named: "any"))
        try limited(to: 8 << 20) { account in
            var tokens: [NotificationToken] = []
            let before = account.bytes
            guard case .nested(let list) = try NestedCollection.item(at: .property(note, property))
            else {
                Issue.record("no list")
                return
            }
            tokens.append(try list.observe { _ in })
            try notes.refresh()
            let afterNested = account.bytes
            #expect(afterNested - before > 500_000)
            tokens.append(try CollectionValues(note.list("texts")).sorted().observe { _ in })
            try notes.refresh()
            #expect(account.bytes - afterNested > 500_000)
            for token in tokens { token.invalidate() }
            #expect(account.bytes - before < 100_000)
        }
    }

    @Test func `Key paths of an observer are refused beyond the limit`() {
        limited(to: 1 << 20) { account in
            #expect(throws: MemoryLimitReached.self) {
                try words().observe(
                    keyPaths: [String](repeating: "text", count: 100_000), { _ in })
            }
            #expect(account.peak <= account.capacity)
        }
    }

    @Test func `A delayed observer counts the changes that it keeps until its next call`() throws {
        let scheduler = ManualScheduler()
        let notes = try Store(
            StoreConfiguration(
                .memory(folder.path + "/delayed"),
                schema: [ClassSchema("Note", [Property("texts", .string, collection: .list)])]),
            scheduler: scheduler)
        let note = try notes.write { try notes.create("Note", .dictionary([:])) }
        try limited(to: 8 << 20) { account in
            var calls = 0
            let token = try CollectionValues(note.list("texts")).sorted().observe(
                pace: .throttle(.seconds(10))
            ) { _ in calls += 1 }
            scheduler.settle()
            #expect(calls == 1)
            func append(_ count: Int) throws {
                try notes.write {
                    try note.list("texts").append(
                        (0..<count).map { .string(String(repeating: "x", count: 200) + "\($0)") })
                }
                scheduler.settle()
            }
            try append(1)
            #expect(calls == 2)
            // The kept values, and later also the changes since the last call, with the inserted values.
            let before = account.bytes
            try append(1000)
            #expect(calls == 2)
            let first = account.bytes
            try append(1000)
            #expect(calls == 2)
            #expect(first - before > 2 * 1000 * 200)
            #expect(account.bytes - first > 2 * 1000 * 200)
            scheduler.pass(.seconds(10))
            #expect(calls == 3)
            let rows = account.bytes
            try append(1)
            #expect(account.bytes - rows < 100 * 200)
            token.invalidate()
        }
    }

    @Test(arguments: [true, false])
    func `Old values are kept up to a limit, also those of a single list`(_ isSmall: Bool)
        throws
    {
        let notes = try Store(
            StoreConfiguration(
                .file(folder.path + "/old.moonpool"),
                schema: [
                    ClassSchema(
                        "Note",
                        [Property("texts", .string, collection: .list), Property("text", .string)])
                ]),
            scheduler: ManualScheduler())
        let count = isSmall ? 100 : 10_000
        let texts = (0..<count).map { Value.string(String(repeating: "x", count: 200) + "\($0)") }
        let note = try notes.write {
            try notes.create("Note", .dictionary(["texts": .list(texts), "text": .string("old")]))
        }
        try limited(to: 8 << 20) { account in
            try notes.write { try note.list("texts").removeAll() }
            try notes.write { try note.set("text", .string("new")) }
            #expect(account.peak < 4 << 20)
        }
        try notes.undo()
        #expect(try note.value("text") == .string("old"))
        if isSmall {
            try notes.undo()
        } else {
            _ = storeError(.invalidArgument) { try notes.undo() }
        }
        #expect(try note.list("texts").count() == (isSmall ? 100 : 0))
    }

    /// The loops that read a store without charging memory.
    enum Reading: CaseIterable {
        case keys, scan, longValues
    }

    @Test(arguments: Reading.allCases)
    func `Loops that read a store's file measure the memory of the process`(_ reading: Reading)
        throws
    {
        let measurements = Atomic(0)
        let account = MemoryAccount(
            limit: 64 << 20,
            measure: {
                measurements.add(1, ordering: .relaxed)
                return (anonymous: 1 << 20, files: 1 << 20)
            })
        account.beginMeasuring()
        try MemoryAccount.$current.withValue(account) {
            let texts = try Store(
                StoreConfiguration(
                    .file(folder.path + "/texts.moonpool"),
                    schema: [ClassSchema("Text", [Property("s", .string)])]),
                scheduler: ManualScheduler())
            try texts.write {
                for number in 0..<40 {
                    try texts.create(
                        "Text",
                        .dictionary([
                            "s": .string(String(repeating: "x", count: 70_000) + "\(number)")
                        ]))
                }
            }
            let keys = try words().keys()
            let words = try store.view.table(store.view.schema.require("Word").table)
            let long = try texts.view.table(texts.view.schema.require("Text").table)
            let before = measurements.load(ordering: .relaxed)
            let deadline = ContinuousClock.now + .seconds(60)
            var read = 0
            while measurements.load(ordering: .relaxed) == before, ContinuousClock.now < deadline {
                switch reading {
                case .keys: for key in keys { read += Int(key.rawValue) }
                case .scan:
                    for cluster in 0..<words.clusterCount {
                        let rows = try words.presence(cluster)
                        read += try words.matches(ColumnID(1), cluster, .notNull, among: rows)
                            .rowCount
                    }
                case .longValues:
                    for row in 0..<40 {
                        let key = ObjectKey(Int64(row))
                        read += try long.withBytes(ColumnID(0), key) { $0.byteCount } ?? 0
                    }
                }
            }
            #expect(measurements.load(ordering: .relaxed) > before)
            #expect(read > 0)
        }
    }
}
