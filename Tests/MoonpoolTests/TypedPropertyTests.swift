import Moonpool
import TestThreads
import Testing

/// Random conditions and changes of the typed API, beside the same in plain Swift.
@Suite struct TypedPropertyTests {
    private typealias Random = SeededGenerator

    private static let words = ["", "a", "A", "ä", "Über", "b*c", "it's", "a\\b", "\"q\"", "日本"]

    private static func pick<T>(_ values: [T], _ random: inout Random) -> T {
        values[Int.random(in: values.indices, using: &random)]
    }

    private static func small(_ random: inout Random) -> Int {
        Int.random(in: -3...3, using: &random)
    }

    private static func book(_ isbn: Int, by author: Live<Author>?, _ random: inout Random) -> Book
    {
        var book = Book(isbn: isbn)
        book.title = pick(words, &random)
        book.pages = Bool.random(using: &random) ? small(&random) : nil
        book.price = DecimalValue(small(&random))
        book.rating = Double(small(&random)) / 2
        book.isLent = Bool.random(using: &random)
        book.mood = pick([nil, .dark, .bright], &random)
        if Bool.random(using: &random) { book.author = author.map { Link($0) } }
        book.tags = [pick(words, &random), pick(words, &random)]
        book.marks = (0..<Int.random(in: 0...3, using: &random)).map { _ in small(&random) }
        if Bool.random(using: &random) { book.notes["it's"] = pick(words, &random) }
        book.place = pick([nil, Shelf(wing: "a", number: 1), Shelf(wing: "ä", number: 2)], &random)
        book.copies = Array(repeating: Shelf(number: small(&random)), count: abs(small(&random)))
        book.extra = pick([nil, 1, 2.5, "a", true], &random)
        return book
    }

    // MARK: Conditions

    private typealias Test = (condition: Condition, holds: (Book) -> Bool)

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private static func leaf(_ f: Fields<Book>, _ random: inout Random) -> Test {
        let (n, w) = (small(&random), pick(words, &random))
        let m = n + 2
        let tests: [Test] = [
            (f.pages == n, { $0.pages == n }), (f.pages != n, { $0.pages != n }),
            (f.pages == nil, { $0.pages == nil }),
            (f.pages < n, { $0.pages.map { $0 < n } ?? false }),
            (f.pages.isBetween(n, m), { $0.pages.map { n <= $0 && $0 <= m } ?? false }),
            (f.pages.isIn([n, m, nil]), { [n, m, nil].contains($0.pages) }),
            (f.pages == f.isbn, { $0.pages == $0.isbn }), (f.title == w, { $0.title == w }),
            (f.title < w, { precedes($0.title, w) }), (f.title >= w, { !precedes($0.title, w) }),
            (f.title.hasPrefix(w), { $0.title.utf8.starts(with: w.utf8) }),
            (f.title.equals(w, .caseInsensitive), { $0.title.lowercased() == w.lowercased() }),
            (f.title.isIn([w, "A"]), { [w, "A"].contains($0.title) }),
            (f.price > DecimalValue(n), { $0.price > DecimalValue(n) }),
            (f.rating <= Double(n) / 2, { $0.rating <= Double(n) / 2 }),
            (f.isLent.condition, { $0.isLent }), (f.mood != .dark, { $0.mood != .dark }),
            (f.tags.contains(w), { $0.tags.contains(w) }),
            (f.marks.any > n, { $0.marks.contains { $0 > n } }),
            (f.marks.all > n, { $0.marks.allSatisfy { $0 > n } }),
            (f.marks.none == n, { !$0.marks.contains(n) }),
            (f.marks.last < n, { $0.marks.last.map { $0 < n } ?? false }),
            (f.marks[1] == n, { $0.marks.count > 1 && $0.marks[1] == n }),
            (f.marks.sum > n, { $0.marks.reduce(0, +) > n }),
            (f.marks.max != n, { $0.marks.max().map { $0 != n } ?? false }),
            (f.marks.count > f.tags.count, { $0.marks.count > $0.tags.count }),
            (f.notes["it's"] == w, { $0.notes["it's"] == w }),
            (f.notes["it's"] == nil, { $0.notes["it's"] == nil }),
            (f.place.number == 1, { $0.place?.number == 1 }), (f.place == nil, { $0.place == nil }),
            (f.copies.any.number == n, { $0.copies.contains { $0.number == n } }),
            (f.copies.sum(\.number) < n, { $0.copies.reduce(0) { $0 + $1.number } < n }),
            (
                f.copies.contains { $0.number > n && $0.wing == "hall" },
                { $0.copies.contains { $0.number > n } }
            ),
            (f.author.name == "Ann", { $0.author != nil }), (f.extra == 1, { $0.extra == 1 }),
        ]
        return pick(tests, &random)
    }

    private static func test(_ fields: Fields<Book>, depth: Int, _ random: inout Random) -> Test {
        let kind = depth > 0 ? Int.random(in: 0..<4, using: &random) : 3
        if kind == 3 { return leaf(fields, &random) }
        let left = test(fields, depth: depth - 1, &random)
        if kind == 2 { return (!left.condition, { !left.holds($0) }) }
        let right = test(fields, depth: depth - 1, &random)
        return kind == 0
            ? (left.condition && right.condition, { left.holds($0) && right.holds($0) })
            : (left.condition || right.condition, { left.holds($0) || right.holds($0) })
    }

    private static func open(_ name: String) throws -> Store {
        try Store(.memory(name), models: Book.self, Author.self, Shelf.self, on: nil)
    }

    @Test(arguments: RandomSeeds.groups)
    func `typed conditions mean the same as Swift`(_ seeds: Range<UInt64>) throws {
        for seed in seeds {
            var random = Random(seed: seed)
            let store = try Self.open("typed-conditions-\(seed)")
            defer { store.close() }
            var books: [Book] = []
            try store.writeNow { tx in
                let ann = try tx.insert(Author(name: "Ann"))
                for isbn in 0..<30 {
                    books.append(Self.book(isbn, by: ann, &random))
                    try tx.insert(books[isbn])
                }
            }
            for _ in 0..<20 {
                var holds: (Book) -> Bool = { _ in false }
                let found = store.all(Book.self).where { fields in
                    let test = Self.test(fields, depth: 3, &random)
                    holds = test.holds
                    return test.condition
                }
                let expected = books.filter(holds).map(\.isbn)
                #expect(found.map(\.isbn) == expected, "\(seed): \(found.predicate)")
                #expect(found.count == expected.count, "\(seed): \(found.predicate)")
                let again = try store.all(Book.self).where(found.predicate)
                #expect(try again.freeze().map(\.isbn) == expected, "\(seed): \(found.predicate)")
            }
        }
    }

    // MARK: Changes

    /// An observed collection with its last rows as text.
    private struct Observed<Rows: Sendable> {
        private var iterator: ChangeSequence<CollectionChange<Rows>>.AsyncIterator
        private var rows: [String]
        private let texts: (Rows) -> [String]

        nonisolated(nonsending) init(
            _ sequence: ChangeSequence<CollectionChange<Rows>>,
            _ texts: @escaping (Rows) -> [String]
        ) async throws {
            iterator = sequence.makeAsyncIterator()
            self.texts = texts
            rows = try texts(#require(try await iterator.next()).rows)
        }

        /// Requires that the next change leads from the last rows to the present ones.
        nonisolated(nonsending) mutating func check(
            _ now: [String], _ seed: UInt64, line: Int = #line
        ) async throws {
            // A change that leaves the text of the rows becomes a part of the next one.
            guard now != rows else { return }
            let change = try #require(try await iterator.next())
            guard case .update(let new, let deletions, let insertions, let modifications) = change
            else {
                Issue.record("\(seed), line \(line): not an update")
                return
            }
            #expect(texts(new) == now, "\(seed), line \(line)")
            var moved = rows
            for position in deletions.reversed() { moved.remove(at: position) }
            for position in insertions { moved.insert(now[position], at: position) }
            for position in modifications { moved[position] = now[position] }
            #expect(moved == now, "\(seed), line \(line): from \(rows)")
            rows = now
        }
    }

    private static func text(_ book: Frozen<Book>) -> String {
        "\(book.isbn) \(book.title) \(book.pages ?? 99) \(book.rating)"
    }

    private static func text(_ book: Live<Book>) -> String {
        "\(book.isbn) \(book.title) \(book.pages ?? 99) \(book.rating)"
    }

    private struct Card: Projection {
        var title: String
        var author: String?
        var sum: Int
        static let projection = ProjectionMap(
            of: Book.self, Card.init, \.title, \.author.name, \.marks.sum)
        var text: String { "\(title) \(author ?? "-") \(sum)" }
    }

    private static func change(
        _ first: Live<Book>, _ ann: Live<Author>, in tx: Transaction, _ random: inout Random
    ) throws {
        let books = Array(tx.store.all(Book.self))
        let book = pick(books, &random)
        let (marks, links, copies) = (first.marks, first.sequels, first.copies)
        func place(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        switch Int.random(in: 0..<17, using: &random) {
        case 0, 1: try tx.insert(Self.book((books.last?.isbn ?? 0) + 1, by: ann, &random))
        case 2: if book != first { try tx.delete(book) }
        case 3: book.rating = Double(small(&random)) / 2
        case 4: book.title = pick(words, &random)
        case 5: book.pages = small(&random)
        case 6: book.mood = pick([nil, .dark, .bright], &random)
        case 7: book.author = Bool.random(using: &random) ? ann : nil
        case 8: marks.append(small(&random))
        case 9: if marks.count > 0 { marks.remove(at: place(marks.count)) }
        case 10: if marks.count > 0 { marks.move(from: place(marks.count), to: place(marks.count)) }
        case 11: links.insert(book, at: place(links.count + 1))
        case 12: if links.count > 0 { links.remove(at: place(links.count)) }
        case 13: first.tags.formSymmetricDifference([pick(words, &random)])
        case 14: copies.append(Shelf(number: small(&random)))
        case 15: if copies.count > 0 { copies.remove(at: place(copies.count)) }
        default: if copies.count > 0 { copies[place(copies.count)].number += 1 }
        }
    }

    @Test(arguments: RandomSeeds.groups)
    func `changes lead from the old rows to the new ones`(_ seeds: Range<UInt64>) async throws {
        for seed in seeds {
            var random = Random(seed: seed)
            let store = try Self.open("typed-changes-\(seed)")
            defer { store.close() }
            let (ann, first) = try store.writeNow { tx in
                let ann = try tx.insert(Author(name: "Ann"))
                let first = try tx.insert(Self.book(0, by: nil, &random))
                for isbn in 1..<12 { try tx.insert(Self.book(isbn, by: ann, &random)) }
                return (ann, first)
            }
            let all = store.all(Book.self)
            let sorted = all.where { $0.rating > -1 }
                .sorted(by: .descending(\.rating), .ascending(\.title))
            let top = all.sorted(by: .ascending(\.pages), .ascending(\.title)).limit(4)
            let distinct = all.sorted(by: \.isbn).distinct(\.mood)
            let cards = all.where { $0.marks.sum > 0 }.sorted(by: \.title).projected(Card.self)
            let linked = first.sequels.where { $0.rating > 0 }
                .sorted(by: .ascending(\.rating), .ascending(\.isbn))
            var results: [(Observed<FrozenResults<Book>>, now: () -> [String])] = []
            for rows in [all, sorted, top, distinct, linked] {
                let observed = try await Observed(rows.changes()) { $0.map(Self.text) }
                results.append((observed, { rows.map(Self.text) }))
            }
            var links = try await Observed(first.sequels.changes()) { $0.map(Self.text) }
            var backlinks = try await Observed(ann.books.changes()) { $0.map(Self.text) }
            var marks = try await Observed(first.marks.changes()) { $0.map(\.description) }
            var tags = try await Observed(first.tags.changes()) { $0.map(\.self) }
            var copies = try await Observed(first.copies.changes()) { $0.map { "\($0.number)" } }
            var projected = try await Observed(cards.changes()) { $0.map(\.text) }
            for _ in 0..<24 {
                let isRolledBack = Int.random(in: 0..<6, using: &random) == 0
                do {
                    try store.writeNow { tx in
                        for _ in 0...Int.random(in: 0...3, using: &random) {
                            try Self.change(first, ann, in: tx, &random)
                        }
                        if isRolledBack { throw CancellationError() }
                    }
                } catch is CancellationError {}
                if Bool.random(using: &random) { continue }
                for index in results.indices {
                    try await results[index].0.check(results[index].now(), seed)
                }
                try await links.check(first.sequels.map(Self.text), seed)
                try await backlinks.check(ann.books.map(Self.text), seed)
                try await marks.check(first.marks.map(\.description), seed)
                try await tags.check(first.tags.map(\.self), seed)
                try await copies.check(first.copies.map { "\($0.number)" }, seed)
                try await projected.check(cards.detached().map(\.text), seed)
            }
        }
    }
}
