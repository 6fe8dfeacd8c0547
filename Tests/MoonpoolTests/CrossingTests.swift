import Moonpool
import TestThreads
import Testing

/// Values that cross threads, actors and processes.
@Suite struct CrossingTests {
    private func open(_ location: StoreLocation) throws -> Store {
        try Store(location, models: Book.self, Author.self, Shelf.self, on: nil)
    }

    private func add(_ count: Int, to store: Store) throws {
        try store.writeNow { tx in
            let ann = try tx.insert(Author(name: "Ann"))
            for number in 1...count {
                try tx.insert(
                    Book(
                        isbn: number, title: "Book \(number)", author: Link(ann),
                        tags: ["t\(number)"], marks: [number]))
            }
        }
    }

    @Test func `a reference brings live values to a store of another thread`() async throws {
        let store = try open(.memory("references"))
        defer { store.close() }
        try add(3, to: store)
        let book = try #require(try store.find(Book.self, 2))
        let ann = try #require(try store.find(Author.self, "Ann"))
        let object = try ThreadSafeReference(to: book)
        let results = try ThreadSafeReference(
            to: store.all(Book.self).where { $0.isbn > 1 }.sorted(by: \.isbn, .descending))
        let marks = try ThreadSafeReference(to: book.marks)
        let tags = try ThreadSafeReference(to: book.tags)
        let notes = try ThreadSafeReference(to: book.notes)
        let backlinks = try ThreadSafeReference(to: ann.books)
        try await Task.detached {
            let other = try Store(
                .memory("references"), models: Book.self, Author.self, Shelf.self, on: nil)
            defer { other.close() }
            #expect(try other.resolve(object)?.title == "Book 2")
            let found = try #require(try other.resolve(results))
            #expect(found.map(\.isbn) == [3, 2])
            #expect(found.predicate == "isbn > 1 sort(isbn desc)")
            #expect(try other.resolve(marks).map(Array.init) == [2])
            #expect(try other.resolve(tags).map(Array.init) == ["t2"])
            #expect(try other.resolve(notes)?.count == 0)
            #expect(try other.resolve(backlinks)?.count == 3)
            let again = #expect(throws: StoreError.self) { try other.resolve(object) }
            #expect(again?.code == .invalidArgument)
        }.value
        let gone = try ThreadSafeReference(to: book)
        try await store.write { tx in try tx.delete(book) }
        #expect(try store.resolve(gone) == nil)
        #expect(throws: StoreError.self) { try ThreadSafeReference(to: book) }
    }

    @Test func `a frozen store shows its version on any thread`() async throws {
        let store = try open(.memory("frozen-store"))
        try add(2, to: store)
        let past = try store.freeze()
        let book = try #require(try store.find(Book.self, 2))
        let id = book.objectID
        try await store.write { tx in
            try tx.delete(book)
            try tx.insert(Book(isbn: 9))
        }
        store.close()
        try await Task.detached { () throws -> Void in
            #expect(past.all(Book.self).map(\.isbn) == [1, 2])
            #expect(past[id]?.title == "Book 2")
            #expect(try past.find(Book.self, 1)?.title == "Book 1")
            #expect(try past.find(Book.self, 9) == nil)
        }.value
    }

    @Test func `sections by several properties have lists of values as keys`() async throws {
        let store = try open(.memory("sections of two"))
        defer { store.close() }
        try add(6, to: store)
        try await store.write { _ in
            for book in store.all(Book.self) {
                book.pages = book.isbn % 2 == 0 ? 2 : nil
                book.genre = book.isbn % 3 == 0 ? .poetry : .novel
            }
        }
        let sections = store.all(Book.self).sorted(by: \.isbn)
            .sectioned(by: .ascending(\.genre), .descending(\.pages))
        #expect(
            sections.keys == [["novel", 2], ["novel", nil], ["poetry", 2], ["poetry", nil]])
        #expect(sections.map { $0.objects.map(\.isbn) } == [[2, 4], [1, 5], [6], [3]])
        #expect(sections[key: ["poetry", 2]].map(\.isbn) == [6])
        #expect(sections[key: ["science", nil]].isEmpty)
        #expect(try sections[1].key[0].get(as: Book.Genre.self) == .novel)
        var changes = sections.changes().makeAsyncIterator()
        _ = try await changes.next()
        try await store.write { _ in store.all(Book.self)[2].pages = 2 }
        guard
            case .update(let after, let deletions, let insertions, let changed)? =
                try await changes.next()
        else {
            Issue.record("no update")
            return
        }
        #expect(deletions == [3] && insertions == [] && changed.map(\.key) == [["poetry", 2]])
        #expect(after.map { $0.objects.map(\.isbn) } == [[2, 4], [1, 5], [3, 6]])
    }

    @Test func `sections group objects and report exact changes`() async throws {
        let store = try open(.memory("sections"))
        defer { store.close() }
        try add(5, to: store)
        try await store.write { _ in
            for book in store.all(Book.self) { book.pages = book.isbn % 2 == 0 ? 2 : nil }
        }
        let sections = store.all(Book.self).sorted(by: \.isbn).sectioned(by: \.pages)
        #expect(sections.count == 2 && sections.keys == [nil, 2])
        #expect(sections[0].key == nil && sections[0].objects.map(\.isbn) == [1, 3, 5])
        #expect(sections[key: 2].map(\.isbn) == [2, 4] && sections[key: 7].isEmpty)
        #expect(sections.map { $0.objects.count } == [3, 2])
        var changes = sections.changes().makeAsyncIterator()
        guard case .initial(let before)? = try await changes.next() else {
            Issue.record("no sections")
            return
        }
        try await store.write { tx in
            try tx.insert(Book(isbn: 6, pages: 7))
            store.all(Book.self)[0].pages = 2
        }
        guard
            case .update(let after, let deletions, let insertions, let changed)? =
                try await changes.next()
        else {
            Issue.record("no update")
            return
        }
        #expect(deletions == [] && insertions == [2])
        #expect(changed.map(\.key) == [nil, 2])
        #expect(changed.map(\.deletions) == [[0], []] && changed.map(\.insertions) == [[], [0]])
        #expect(after.map { $0.objects.map(\.isbn) } == [[3, 5], [1, 2, 4], [6]])
        #expect(before.map { $0.objects.map(\.isbn) } == [[1, 3, 5], [2, 4]])
    }

    @Test func `an actor with its own executor keeps its thread, and calls on other threads throw`()
        async throws
    {
        let worker = Worker()
        let name = try await worker.open("executor")
        #expect(name == "moonpool-worker")
        #expect(try await worker.threads(10).count == 1)
        #expect(await worker.escaped() == .wrongThread)
    }

    @MainActor @Test func `a store of the main actor refuses other threads`() async throws {
        let store = try Store(
            .memory("main"), models: Book.self, Author.self, Shelf.self, on: MainActor.shared)
        defer { store.close() }
        #expect(try store.refresh() == false)
        let escaped = Escaped(store)
        let code = await Task.detached { escaped.refreshCode() }.value
        #expect(code == .wrongThread)
    }

    @Test func `lists, sets and maps are sequences of changes`() async throws {
        let store = try open(.memory("collections"))
        defer { store.close() }
        try add(1, to: store)
        let book = store.all(Book.self)[0]
        var marks = book.marks.changes().makeAsyncIterator()
        var tags = book.tags.changes().makeAsyncIterator()
        var notes = book.notes.changes().makeAsyncIterator()
        var sequels = book.sequels.changes(\.title).makeAsyncIterator()
        #expect(try await marks.next()?.rows == [1])
        #expect(try await tags.next()?.rows == ["t1"])
        #expect(try await notes.next()?.rows == [:])
        #expect(try await sequels.next()?.rows.count == 0)
        try await store.write { tx in
            book.marks.append(2)
            book.tags.insert("a")
            book.notes["k"] = "v"
            book.sequels.append(try tx.insert(Book(isbn: 7, title: "Seven")))
        }
        guard case .update(let rows, _, let insertions, _)? = try await marks.next() else {
            Issue.record("no update")
            return
        }
        #expect(rows == [1, 2] && insertions == [1])
        #expect(try await tags.next()?.rows.sorted() == ["a", "t1"])
        guard case .update(let entries, _, let keys, _)? = try await notes.next() else {
            Issue.record("no update")
            return
        }
        #expect(entries == ["k": "v"] && keys == ["k"])
        #expect(try await sequels.next()?.rows.map(\.title) == ["Seven"])
        try await store.write { tx in try tx.delete(book) }
        #expect(try await marks.next()?.rows == [])
        #expect(try await marks.next() == nil)
    }
}

private struct Escaped: @unchecked Sendable {
    private let store: Store
    init(_ store: Store) { self.store = store }
    func refreshCode() -> ErrorCode? {
        do {
            try store.refresh()
            return nil
        } catch { return (error as? StoreError)?.code }
    }
}

private actor Worker {
    private let thread = ThreadExecutor(name: "moonpool-worker")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private var store: Store?

    func open(_ name: String) throws -> String {
        store = try Store(.memory(name), models: Book.self, Author.self, Shelf.self)
        return RunningThread.currentName
    }
    func threads(_ count: Int) async throws -> Set<UInt> {
        var seen: Set<UInt> = []
        for number in 0..<count {
            try await store?.write { tx in try tx.insert(Book(isbn: number)) }
            seen.insert(RunningThread.currentNumber)
        }
        return seen
    }
    func escaped() async -> ErrorCode? {
        guard let store else { return nil }
        _ = try? store.refresh()
        let escaped = Escaped(store)
        return await Task.detached { escaped.refreshCode() }.value
    }
}
