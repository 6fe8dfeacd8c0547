import Glibc
import Moonpool
import TestThreads
import Testing

private struct BookCard: Projection, Equatable {
    var title: String
    var writer: String?
    var sequels: Int
    var firstSequel: String?
    var best: Int?
    var tags: Set<String>
    static let projection = ProjectionMap(
        of: Book.self, BookCard.init, \.title, \.author.name, \.sequels.count, \.sequels[0].title,
        \.marks.max, \.tags)
}

private struct Wrong: Projection {
    var title: String
    var writer: String
    static let projection = ProjectionMap(of: Book.self, Wrong.init, \.title, \.author.name)
}

private struct Swapped: Projection {
    var pages: Int?
    var title: String
    static let projection = ProjectionMap(
        of: Book.self, { (title: String, pages: Int?) in Swapped(pages: pages, title: title) },
        \.title, \.pages)
}

@Suite struct ProjectionTests {
    private func store(_ name: String) throws -> Store {
        try Store(.memory(name), models: Book.self, Author.self, Shelf.self, on: nil)
    }

    @Test func `a projection reads through links, elements and aggregates`() throws {
        let store = try store("projection-read")
        defer { store.close() }
        let dune = try store.writeNow { tx in
            try tx.insert(
                Book(
                    isbn: 1, title: "Dune", author: .new(Author(name: "Frank")),
                    sequels: [.new(Book(isbn: 2, title: "Messiah"))], tags: ["sand"],
                    marks: [2, 5, 3]))
        }
        let card = dune.projected(BookCard.self)
        #expect(
            try card.detached()
                == BookCard(
                    title: "Dune", writer: "Frank", sequels: 1, firstSequel: "Messiah", best: 5,
                    tags: ["sand"]))
        #expect(card.title == "Dune" && card.writer == "Frank" && card.best == 5)
        let other = store.all(Book.self).sorted(by: \.isbn).projected(BookCard.self)[1]
        #expect(
            try other.detached()
                == BookCard(
                    title: "Messiah", writer: nil, sequels: 0, firstSequel: nil, best: nil, tags: []
                ))
    }

    @Test func `assigning a projected property sets the property of the object`() throws {
        let store = try store("projection-write")
        defer { store.close() }
        let dune = try store.writeNow { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        let card = dune.projected(BookCard.self)
        try store.writeNow { _ in card.title = "Arrakis" }
        #expect(dune.title == "Arrakis")
        let error = #expect(throws: StoreError.self) {
            try store.writeNow { _ in card.writer = "Frank" }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("author.name") == true)
    }

    @Test func `only changes of the projected paths are reported, with projected names`()
        async throws
    {
        let store = try store("projection-changes")
        defer { store.close() }
        let dune = try await store.write { tx in
            try tx.insert(Book(isbn: 1, title: "Dune", author: .new(Author(name: "Frank"))))
        }
        let card = dune.projected(BookCard.self)
        var changes = card.changes().makeAsyncIterator()
        try await store.write { _ in dune.isLent = true }
        try await store.write { _ in dune.author?.born = Timestamp(microseconds: 1) }
        try await store.write { _ in dune.title = "Arrakis" }
        guard case .change(let after, let properties)? = try await changes.next() else {
            Issue.record("no change")
            return
        }
        #expect(after.title == "Arrakis")
        #expect(properties.map(\.name) == ["title"])
        #expect(properties.map(\.old) == ["Dune"] && properties.map(\.new) == ["Arrakis"])
        try await store.write { tx in dune.author = try tx.insert(Author(name: "Herbert")) }
        guard case .change(_, let next)? = try await changes.next() else {
            Issue.record("no change")
            return
        }
        #expect(next.map(\.name) == ["writer"])
        try await store.write { tx in try tx.delete(dune) }
        guard case .deleted(let last)? = try await changes.next() else {
            Issue.record("no deletion")
            return
        }
        #expect(last.title == "Arrakis" && last.writer == "Herbert")
        #expect(try await changes.next() == nil)
    }

    @Test func `changes continue after a version that cannot be read`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("books.moonpool")
        func open() throws -> Store {
            try Store(.file(path), models: Book.self, Author.self, Shelf.self, on: nil)
        }
        let new = try open()
        try new.writeNow { tx in
            for isbn in 0..<3000 { try tx.insert(Book(isbn: isbn, title: "book-\(10_000 + isbn)")) }
        }
        new.close()
        let store = try open()
        defer { store.close() }
        let books = store.all(Book.self).sorted(by: \.isbn)
        let (dune, sequel) = (books[0], books[2000])
        var changes = dune.projected(BookCard.self).changes().makeAsyncIterator()
        try replace("book-12000", by: "bXok-12000", in: path)
        try await store.write { _ in dune.sequels.append(sequel) }
        let error = await #expect(throws: StoreError.self) { _ = try await changes.next() }
        #expect(error?.code == .fileCorrupt)
        try replace("bXok-12000", by: "book-12000", in: path)
        try await store.write { _ in dune.isLent = true }
        try await store.write { _ in dune.title = "Dune" }
        guard case .change(let after, let properties)? = try await changes.next() else {
            Issue.record("the changes have ended")
            return
        }
        #expect(after.title == "Dune" && after.firstSequel == "book-12000")
        #expect(properties.map(\.name) == ["title", "sequels", "firstSequel"])
    }

    /// Overwrites the first occurrence of a text in a file.
    private func replace(_ text: String, by other: String, in path: String) throws {
        let file = open(path, O_RDWR)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Int(lseek(file, 0, SEEK_END)))
        #expect(pread(file, &bytes, bytes.count, 0) == bytes.count)
        let start = try #require(bytes.firstRange(of: Array(text.utf8))).lowerBound
        let new = Array(other.utf8)
        #expect(pwrite(file, new, new.count, off_t(start)) == new.count)
    }

    @Test func `only changes of the chosen properties are reported`() async throws {
        let store = try store("projection-chosen")
        defer { store.close() }
        let dune = try await store.write { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        var changes = dune.projected(BookCard.self).changes(\.sequels).makeAsyncIterator()
        try await store.write { _ in dune.title = "Arrakis" }
        try await store.write { tx in
            dune.sequels.append(try tx.insert(Book(isbn: 2, title: "Messiah")))
        }
        guard case .change(_, let properties)? = try await changes.next() else {
            Issue.record("no change")
            return
        }
        #expect(properties.map(\.name) == ["sequels"])
        #expect(properties.map(\.new) == [1])
    }

    @Test func `projected results have the change sets of the projected paths`() async throws {
        let store = try store("projection-results")
        defer { store.close() }
        let books = try await store.write { tx in
            try (1...3).map { try tx.insert(Book(isbn: $0, title: "Book \($0)")) }
        }
        let cards = store.all(Book.self).projected(BookCard.self)
        #expect(cards.count == 3 && cards.first?.title == "Book 1")
        #expect(cards.map(\.title) == ["Book 1", "Book 2", "Book 3"])
        var changes = cards.changes().makeAsyncIterator()
        guard case .initial(let rows)? = try await changes.next() else {
            Issue.record("no rows")
            return
        }
        #expect(Array(rows) == (try cards.detached()))
        try await store.write { _ in books[0].isLent = true }
        try await store.write { tx in
            books[1].title = "Two"
            try tx.insert(Book(isbn: 4, title: "Book 4"))
            try tx.delete(books[2])
        }
        guard
            case .update(let after, let deletions, let insertions, let modifications)? =
                try await changes.next()
        else {
            Issue.record("no update")
            return
        }
        #expect(deletions == [2] && insertions == [2] && modifications == [1])
        #expect(after.map(\.title) == ["Book 1", "Two", "Book 4"])
        // The rows of the earlier change belong to its version.
        #expect(rows.map(\.title) == ["Book 1", "Book 2", "Book 3"])
    }

    @Test func `the sequence of values begins with the current values`() async throws {
        let store = try store("projection-values")
        defer { store.close() }
        let dune = try await store.write { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        var values = dune.projected(BookCard.self).values().makeAsyncIterator()
        #expect(try await values.next()?.title == "Dune")
        try await store.write { _ in dune.title = "Arrakis" }
        #expect(try await values.next()?.title == "Arrakis")
    }

    @Test func `a path through an optional link needs an optional property`() async {
        await #expect(processExitsWith: .failure) {
            let store = try Store(
                .memory("wrong"), models: Book.self, Author.self, Shelf.self, on: nil)
            print(store.all(Book.self).projected(Wrong.self).count)
        }
    }

    @Test func `the order of the paths is that of the properties`() async throws {
        let store = try store("projection-order")
        defer { store.close() }
        let dune = try await store.write { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        var changes = dune.projected(Swapped.self).changes().makeAsyncIterator()
        do {
            _ = try await changes.next()
            Issue.record("expected an error")
        } catch let error as StoreError {
            #expect(error.code == .invalidSchema)
        }
    }
}
