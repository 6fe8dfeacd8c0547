import MemoryAccounts
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
                    ClassSchema("Word", "text: string, number: int"),
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

    private func limited<Result>(to limit: Int, _ body: () throws -> Result) rethrows -> Result {
        let account = MemoryAccount(limit: limit)
        return try MemoryAccount.$current.withValue(account) {
            try Interruption.$current.withValue(Interruption { false }) { try body() }
        }
    }

    private func words() throws -> Results { try store.objects("Word") }

    @Test func `The indexes of a long write share the memory, and are complete`() throws {
        var generator = SplitMix(seed: 30)
        try limited(to: 8 << 20) {
            try store.beginWrite()
            for _ in 0..<3000 {
                let number = Int64.random(in: 0..<1000, using: &generator)
                try store.create(
                    "Entry",
                    .dictionary(
                        ValueMap(
                            uniqueKeysWithValues: Self.indexed.map {
                                ($0, $0.hasPrefix("i") ? .int(number) : .string("text \(number)"))
                            })))
            }
            try store.commitWrite()
        }
        #expect(try store.verify().isEmpty)
        for name in Self.indexed {
            let number = try store.objects("Entry").filtered(
                name.hasPrefix("i") ? "\(name) == 7" : "\(name) == 'text 7'")
            #expect(try number.count() == store.objects("Entry").filtered("i0 == 7").count())
        }
    }

    @Test func `An index that is built under a limit is complete`() throws {
        try limited(to: 4 << 20) {
            try store.define([ClassSchema("Word", "text: string indexed, number: int indexed")])
        }
        #expect(try store.verify().isEmpty)
        for number in stride(from: 0, to: 8000, by: 97) {
            let text = "a text that is longer than a code \(number)"
            #expect(try store.objects("Word").filtered("text == $1", [.string(text)]).count() == 1)
        }
        #expect(try store.objects("Word").filtered("number < 5000").count() == 5000)
    }

    @Test(arguments: [true, false])
    func `Old values are kept up to a limit, also those of a single list`(_ isSmall: Bool) throws {
        let notes = try Store(
            StoreConfiguration(
                .file(folder.path + "/old.moonpool"),
                schema: [ClassSchema("Note", "texts: string[], text: string")]),
            scheduler: ManualScheduler())
        let count = isSmall ? 100 : 10_000
        let texts = (0..<count).map { Value.string(String(repeating: "x", count: 200) + "\($0)") }
        let note = try notes.write {
            try notes.create("Note", .dictionary(["texts": .list(texts), "text": .string("old")]))
        }
        try limited(to: 8 << 20) {
            try notes.write { try note.list("texts").removeAll() }
            try notes.write { try note.set("text", .string("new")) }
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
}
