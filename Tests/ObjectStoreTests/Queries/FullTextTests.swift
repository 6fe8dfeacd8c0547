import ColumnStorage
import ObjectStore
import Testing

/// The operator `text` on full-text properties, and the order `@rank`.
@Suite struct FullTextTests {
    static func classes(fullText: Bool = true) -> [ClassSchema] {
        [
            ClassSchema(
                "Note",
                [
                    Property("title", .string),
                    Property("body", .string, isOptional: true, isFullText: fullText),
                    Property("stars", .int, defaultValue: .int(0)),
                    Property("parent", .object, target: "Note"),
                    Property("children", .object, collection: .list, target: "Note"),
                ])
        ]
    }

    let stores: StorePair
    var store: Store { stores.store }

    init() throws { stores = try StorePair(Self.classes()) }

    private func add(_ bodies: [String?]) throws {
        try store.write {
            for (index, body) in bodies.enumerated() {
                try store.create(
                    "Note",
                    .dictionary([
                        "title": .string("\(index)"), "body": body.map(Value.string) ?? .null,
                        "stars": .int(Int64(index % 3)),
                    ]))
            }
        }
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

    @Test func `an error marks properties that cannot be searched with a caret`() throws {
        func message(_ text: String, _ arguments: Value...) -> String {
            storeError(.invalidQuery) { _ = try notes().filtered(text, arguments) }?.message ?? ""
        }
        #expect(message("title text 'x'").contains("declare it \"string fulltext\""))
        #expect(message("stars text 'x'").contains("is not one"))
        #expect(message("body text 5").contains("needs a string"))
        #expect(message("body text title").contains("needs a string"))
        #expect(message("body text[c] 'x'").contains("no options"))
        #expect(message("'x' text body").contains("is not one"))
        let long = String(repeating: "word ", count: 65)
        #expect(message("body text $1", .string(long)).contains("at most 64 words"))
        let rank = storeError(.invalidQuery) { _ = try notes().sorted([("@rank", true)]) }
        #expect(rank?.message.contains("filter with 'text'") == true)
        #expect(message("title == 'x' sort(@rank)").contains("filter with 'text'"))
        let schema = storeError(.invalidSchema) {
            try store.define([ClassSchema("Bad", [Property("n", .int, isFullText: true)])])
        }
        #expect(schema?.message.contains("cannot have a full-text index") == true)
    }

    @Test func `a search ignores case and diacritics, excludes words, and matches prefixes`()
        throws
    {
        try add(["Red dog", "blue dog", "réd car", nil, "", "The reddish DOG"])
        #expect(try found("red") == [0, 2])
        #expect(try found("DOG -blue") == [0, 5])
        #expect(try found("re* dog") == [0, 5])
        #expect(try found("-dog") == [2, 4])
        #expect(try found("").isEmpty)
        #expect(try found("missing dog").isEmpty)
        #expect(try titles(notes().filtered("body text 'dog' and stars == 1")) == [1])
        #expect(try titles(notes().filtered("not body text 'dog'")) == [2, 3, 4])
        #expect(try titles(notes().filtered("body text 'car' or stars == 1")) == [1, 2, 4])
        let explained = try notes().filtered("body text 'red dog'").explain()
        #expect(explained.contains("2 words in the full-text index for: body text 'red dog'"))
    }

    @Test func `a search through a link uses the index of the linked texts`() throws {
        try add((0..<2000).map { $0 % 900 == 1 ? "a rare word" : "common words only" })
        let all = try notes().keys().array
        let parents = [1, 2, 901].map { all[$0] }
        try store.write {
            let note = try store.schema.require("Note")
            for (index, key) in all.enumerated() {
                let parent = ObjectReference(table: note.table, key: parents[index % 3])
                try ObjectSource.store(store).object(note, key).set("parent", .object(parent))
            }
        }
        let found = try notes().filtered("parent.body text 'rare' and stars == 0")
        #expect(try found.count() == all.indices.count { $0 % 3 == 0 })
        let few = try notes().filtered("parent.body text 'rare -common' and title == '3'")
        #expect(try few.count() == 1)
        #expect(try found.explain().contains("linked objects"))
    }

    @Test func `a search follows links and lists`() throws {
        try add(["red dog", "blue dog", nil])
        try store.write {
            let all = try notes()
            try store.update(all.object(at: 2), ["parent": .object(all.object(at: 0).reference)])
            try store.update(
                all.object(at: 1),
                ["children": .list([.object(all.object(at: 0).reference)])])
        }
        #expect(try titles(notes().filtered("parent.body text 'red'")) == [2])
        #expect(try titles(notes().filtered("any children.body text 'red'")) == [1])
        let ranked = try notes().filtered("parent.body text 'red'").sorted([("@rank", true)])
        #expect(try titles(ranked) == [2])
        _ = storeError(.invalidQuery) {
            _ = try notes().filtered("any children.body text 'red'").sorted([("@rank", true)])
        }
    }

    @Test func `@rank puts the best match first, and last when descending`() throws {
        try add([
            "a dog among many other words that say nothing about it", "dog", "dog dog cat",
            "no match", "dog dog",
        ])
        let dogs = try notes().filtered("body text 'dog'")
        #expect(try titles(dogs) == [0, 1, 2, 4])
        #expect(try titles(dogs.sorted([("@rank", true)])) == [4, 2, 1, 0])
        #expect(try titles(dogs.sorted([("@rank", false)])) == [0, 1, 2, 4])
        #expect(try titles(notes().filtered("body text 'dog' sort(@rank) limit(2)")) == [4, 2])
        #expect(
            try titles(dogs.sorted([("stars", true), ("@rank", true)])) == [0, 4, 1, 2])
    }

    @Test func `define adds the index to a class with objects, and drops it`() throws {
        let plain = try StorePair(Self.classes(fullText: false))
        try plain.store.write {
            for body in ["red dog", "blue dog"] {
                try plain.store.create(
                    "Note", .dictionary(["title": .string("x"), "body": .string(body)]))
            }
        }
        func count() throws -> Int {
            try Results(.store(plain.store), all: try plain.store.schema.require("Note"))
                .filtered("body text 'red'").count()
        }
        _ = storeError(.invalidQuery) { _ = try count() }
        try plain.store.define(Self.classes())
        #expect(try count() == 1)
        try plain.other.refresh()
        #expect(plain.other.schema.find("Note")?.property(named: "body")?.isFullText == true)
        try plain.other.write {
            try plain.other.create(
                "Note", .dictionary(["title": .string("y"), "body": .string("red car")]))
        }
        try plain.store.refresh()
        #expect(try count() == 2)
        try plain.store.define(Self.classes(fullText: false))
        _ = storeError(.invalidQuery) { _ = try count() }
    }

    private static let words = ["red", "Réd", "reddish", "blue", "dog", "dogs", "über", "42"]

    @Test(arguments: 1...6)
    func `a search and its observers agree with a naive search through random writes`(
        seed: Int
    ) throws {
        var random = SplitMix(seed: UInt64(seed))
        func body() -> Value {
            if random.next() % 8 == 0 { return .null }
            return .string(
                (0..<random.next() % 6).map { _ in
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
            try store.write {
                for _ in 0..<random.next() % 40 {
                    try store.create(
                        "Note", .dictionary(["title": .string("t"), "body": body()]))
                }
                let all = try notes().keys().array
                for key in all where random.next() % 6 == 0 {
                    let object = try #require(
                        store.object(
                            ObjectReference(table: store.schema.require("Note").table, key: key)))
                    if random.next() % 3 == 0 {
                        try store.delete(object)
                    } else {
                        try store.update(object, ["body": body()])
                    }
                }
                // The same inside the write.
                try check(searches)
            }
            try check(searches)
            stores.settle()
            for (number, search) in searches.enumerated() {
                let plain = try notes().filtered("body text $1", [.string(search)])
                #expect(try titles(plain) == seen[number * 2])
                #expect(
                    try titles(plain.sorted([("@rank", true)])) == seen[number * 2 + 1])
            }
        }
        withExtendedLifetime(tokens) {}
    }

    private func check(_ searches: [String]) throws {
        let rows = try notes()
        for text in searches {
            let query = try #require(TextQuery(text))
            let naive = try rows.keys().array.filter { key in
                let object = try #require(
                    store.object(
                        ObjectReference(table: store.schema.require("Note").table, key: key)))
                guard case .string(let body) = try object.value("body") else { return false }
                return query.matches(Array(body.utf8).span)
            }
            #expect(try found(text) == naive.map(\.rawValue))
        }
    }
}
