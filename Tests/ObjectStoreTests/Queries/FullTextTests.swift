import ColumnStorage
import ObjectStore
import Testing

/// Full-text searches of random texts; `Tests/Specifications/full_text.lua` specifies the rest.
@Suite struct FullTextTests {
    let stores: StorePair
    var store: Store { stores.store }

    init() throws {
        stores = try StorePair([ClassSchema("Note", "title: string, body: string? fulltext")])
    }

    private func notes() throws -> Results {
        Results(.store(store), all: try store.schema.require("Note"))
    }

    private func titles(_ results: Results) throws -> [Int64] {
        let keys = try results.keys().map(\.rawValue)
        #expect(try Results(results.source, results.query).count() == keys.count)
        return keys
    }

    private func found(_ text: String) throws -> [Int64] {
        try titles(notes().filtered("body text $1", [.string(text)]))
    }

    private func object(_ key: ObjectKey) throws -> LiveObject {
        let table = try store.schema.require("Note").table
        return try #require(store.object(ObjectReference(table: table, key: key)))
    }

    private static let words = ["red", "Réd", "reddish", "blue", "dog", "dogs", "über", "42"]

    @Test(arguments: 1...6)
    func `a search and its observers agree with a naive search through random writes`(
        seed: Int
    ) throws {
        var random = SplitMix(seed: UInt64(seed))
        func body() -> Value {
            if random.next() % 8 == 0 { return .null }
            let count = random.next() % 30 == 0 ? 400 : random.next() % 6
            return .string(
                (0..<count).map { _ in
                    Self.words[Int(random.next() % UInt64(Self.words.count))]
                }.joined(separator: " "))
        }
        let searches = ["red", "dog -red", "re* blue", "uber 42", "-dog"]
        var tokens: [NotificationToken] = []
        var seen = [[Int64]](repeating: [], count: searches.count * 2)
        for (number, search) in searches.enumerated() {
            for isRanked in [false, true] {
                let plain = try notes().filtered("body text $1", [.string(search)])
                let results = isRanked ? try plain.sorted([("@rank", true)]) : plain
                let index = number * 2 + (isRanked ? 1 : 0)
                tokens.append(
                    try results.observe { change in
                        if case .initial = change.kind {
                            seen[index] = try results.keys().map(\.rawValue)
                            return
                        }
                        for position in change.deletions.reversed() {
                            seen[index].remove(at: position)
                        }
                        let now = try results.keys().map(\.rawValue)
                        for position in change.insertions {
                            seen[index].insert(now[position], at: position)
                        }
                    })
            }
        }
        stores.settle()
        for _ in 0..<12 {
            try store.beginWrite()
            for _ in 0..<random.next() % 40 {
                try store.create("Note", .dictionary(["title": .string("t"), "body": body()]))
            }
            for key in try notes().keys().array where random.next() % 6 == 0 {
                let note = try object(key)
                if random.next() % 3 == 0 {
                    try store.delete(note)
                } else {
                    try store.update(note, ["body": body()])
                }
            }
            // The same inside the write.
            try check(searches)
            if random.next() % 4 == 0 { try store.cancelWrite() } else { try store.commitWrite() }
            try check(searches)
            stores.settle()
            for (number, search) in searches.enumerated() {
                let plain = try notes().filtered("body text $1", [.string(search)])
                #expect(try titles(plain) == seen[number * 2])
                #expect(try titles(plain.sorted([("@rank", true)])) == seen[number * 2 + 1])
            }
        }
        withExtendedLifetime(tokens) {}
    }

    private func check(_ searches: [String]) throws {
        let rows = try notes()
        for text in searches {
            let query = try #require(TextQuery(text))
            let naive = try rows.keys().array.filter { key in
                guard case .string(let body) = try object(key).value("body") else { return false }
                return query.matches(Array(body.utf8).span)
            }
            #expect(try found(text) == naive.map(\.rawValue))
        }
    }
}
