import ColumnStorage
import MemoryAccounts
import Testing

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

    @Test func `Sorting, distinct values and sections need memory only while they are computed`()
        throws
    {
        try limited(to: 8 << 20) { account in
            let sorted = try words().sorted([(path: "text", ascending: true)])
            #expect(try sorted.keys().count == 8000)
            #expect(try words().distinct(["text"]).keys().count == 8000)
            #expect(try words().grouped(by: "text").count() == 8000)
            #expect(account.peak > 8000 * 40)
            #expect(account.bytes < account.peak)
        }
    }

    @Test func `A query that needs too much memory throws, and smaller ones still work`() throws {
        try limited(to: 400 << 10) { account in
            for _ in 0..<2 {
                #expect(throws: MemoryLimitReached.self) {
                    try words().sorted([(path: "text", ascending: true)]).keys()
                }
                #expect(throws: MemoryLimitReached.self) {
                    try words().distinct(["text"]).keys()
                }
                #expect(throws: MemoryLimitReached.self) {
                    try words().grouped(by: "text").count()
                }
                let few = try words().filtered("number < 10").sorted([
                    (path: "text", ascending: true)
                ])
                #expect(try few.keys().count == 10)
            }
            #expect(account.peak <= account.capacity)
        }
    }

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
}
