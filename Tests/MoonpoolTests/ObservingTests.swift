import Moonpool
import TestThreads
import Testing

import class ColumnStorage.Interruption

/// An actor that owns a store and observes it.
private actor Reader {
    let location: StoreLocation
    private(set) var seen: [String] = []
    private var store: Store?
    private var tokens: [NotificationToken] = []

    init(_ location: StoreLocation) { self.location = location }

    private func opened() throws -> Store {
        if let store { return store }
        let created = try Store(location, models: Book.self, Author.self, Shelf.self)
        store = created
        return created
    }

    func add(_ isbn: Int, _ title: String) async throws -> ObjectID<Book> {
        try await opened().write { tx in try tx.insert(Book(isbn: isbn, title: title)).objectID }
    }
    func rename(_ id: ObjectID<Book>, to title: String) async throws {
        let store = try opened()
        try await store.write { _ in store[id]?.title = title }
    }
    func delete(_ id: ObjectID<Book>) async throws {
        let store = try opened()
        try await store.write { tx in if let book = store[id] { try tx.delete(book) } }
    }

    func observe() throws {
        tokens.append(
            try opened().all(Book.self).observe { result in
                switch result {
                case .success(.initial(let rows)): self.seen.append("initial \(rows.count)")
                case .success(.update(let rows, let deletions, let insertions, let modifications)):
                    self.seen.append(
                        "\(rows.map(\.title)) \(deletions) \(insertions) \(modifications)")
                case .failure(let error): self.seen.append("\(error)")
                }
            })
    }
    func follow(_ isReady: @Sendable () -> Void) async throws {
        for try await change in try opened().all(Book.self).changes(\.title) {
            switch change {
            case .initial(let rows):
                seen.append("initial \(rows.count)")
                isReady()
            case .update(let rows, let deletions, let insertions, let modifications):
                seen.append("\(rows.map(\.title)) \(deletions) \(insertions) \(modifications)")
            }
        }
        seen.append("end")
    }
    func followObject(_ id: ObjectID<Book>, _ isReady: @Sendable () -> Void) async throws {
        guard let book = try opened()[id] else { return }
        isReady()
        for try await change in book.changes() {
            switch change {
            case .change(let frozen, _):
                let title = change[\.title]
                seen.append("\(title?.old ?? "") -> \(title?.new ?? "") \(frozen.title)")
            case .deleted(let frozen): seen.append("deleted \(frozen.title)")
            }
        }
        seen.append("end")
    }
    func followValues(_ id: ObjectID<Book>) async throws {
        guard let book = try opened()[id] else { return }
        for try await title in book.values(of: \.title) { seen.append(title) }
        seen.append("end")
    }
    /// Adds a book with collections, and observes it and all of them.
    func observeAll(_ isbn: Int) async throws -> ObjectID<Book> {
        let book = try await opened().write { tx in
            try tx.insert(
                Book(
                    isbn: isbn, title: "Dune", tags: ["a", "b"], marks: [1, 2],
                    notes: ["x": "y"], copies: [Shelf()]))
        }
        func record<Rows>(_ name: String) -> (Result<CollectionChange<Rows>, any Error>) -> Void {
            { result in
                switch result {
                case .success(.initial): self.initials += 1
                case .success(.update(_, let deletions, let insertions, _)):
                    self.seen.append("\(name) -\(deletions) +\(insertions)")
                case .failure(let error): self.seen.append("\(name) \(error)")
                }
            }
        }
        func record(_ name: String) -> (Result<ObjectChange<Book>, any Error>) -> Void {
            { result in
                switch result {
                case .success(.change): self.seen.append("\(name) changed")
                case .success(.deleted): self.seen.append("\(name) deleted")
                case .failure(let error): self.seen.append("\(name) \(error)")
                }
            }
        }
        let object = record("object") as (Result<ObjectChange<Book>, any Error>) -> Void
        let title = record("title") as (Result<ObjectChange<Book>, any Error>) -> Void
        tokens.append(try book.observe { object($0) })
        tokens.append(try book.observe(\.title) { title($0) })
        let marks: (Result<CollectionChange<[Int]>, any Error>) -> Void = record("marks")
        tokens.append(try book.marks.observe { marks($0) })
        let tags: (Result<CollectionChange<[String]>, any Error>) -> Void = record("tags")
        tokens.append(try book.tags.observe { tags($0) })
        let copies: (Result<CollectionChange<[Frozen<Shelf>]>, any Error>) -> Void = record(
            "copies")
        tokens.append(try book.copies.observe { copies($0) })
        return book.objectID
    }
    /// Observes results, an object and a list, each until the first change, on this actor and on another one.
    func observeOnce(_ id: ObjectID<Book>, beside other: Observer) async throws {
        let store = try opened()
        guard let book = store[id] else { return }
        let books = store.all(Book.self)
        tokens.append(
            try books.observe(\.title, once: true) { result in
                guard case .success(let change) = result else { return }
                if case .update(let rows, _, _, _) = change {
                    self.seen.append("results \(rows.map(\.title))")
                } else {
                    self.initials += 1
                }
            })
        tokens.append(
            try book.observe(once: true) { result in
                if case .success(.change(let book, _)) = result {
                    self.seen.append("object \(book.title)")
                }
            })
        tokens.append(
            try book.marks.observe(once: true) { result in
                guard case .success(let change) = result else { return }
                if case .update = change {
                    self.seen.append("marks \(change.rows)")
                } else {
                    self.initials += 1
                }
            })
        tokens.append(
            try await books.observe(\.title, once: true, on: other) { other, result in
                guard case .success(.update(let rows, _, _, _)) = result else { return }
                other.seen.append("\(rows.map(\.title))")
            })
    }
    func mark(_ id: ObjectID<Book>, _ mark: Int) async throws {
        let store = try opened()
        try await store.write { _ in store[id]?.marks.append(mark) }
    }
    private var initials = 0
    func hasDelivered(_ count: Int) -> Bool { initials == count }
    func hasDelivered() -> Bool { initials == 3 }
    var validTokens: Int { tokens.count { $0.isValid } }
    func close() {
        tokens = []
        store?.close()
        store = nil
    }
}

private actor Observer {
    var seen: [String] = []
}

@Suite struct ObservingTests {
    private func wait(_ reader: Reader, for count: Int) async throws -> [String] {
        _ = try await eventually { await reader.seen.count >= count }
        return await reader.seen
    }

    @Test func `a handler receives the commits of other stores`() async throws {
        let reader = Reader(.memory("handler"))
        let writer = Reader(.memory("handler"))
        try await reader.observe()
        #expect(try await wait(reader, for: 1) == ["initial 0"])
        let id = try await writer.add(1, "Dune")
        #expect(try await wait(reader, for: 2).last == "[\"Dune\"] [] [0] []")
        try await writer.rename(id, to: "Dune II")
        #expect(try await wait(reader, for: 3).last == "[\"Dune II\"] [] [] [0]")
        try await writer.delete(id)
        #expect(try await wait(reader, for: 4).last == "[] [0] [] []")
        await reader.close()
        await writer.close()
    }

    @Test func `an observation with once ends after the first change`() async throws {
        let reader = Reader(.memory("once"))
        let other = Observer()
        let id = try await reader.add(1, "Dune")
        try await reader.observeOnce(id, beside: other)
        #expect(try await eventually { await reader.hasDelivered(2) })
        #expect(await reader.validTokens == 4)
        try await reader.rename(id, to: "Dune II")
        #expect(
            try await wait(reader, for: 2).sorted() == ["object Dune II", "results [\"Dune II\"]"])
        #expect(try await eventually { await reader.validTokens == 1 })
        #expect(try await eventually { await other.seen == ["[\"Dune II\"]"] })
        try await reader.rename(id, to: "Dune III")
        try await reader.mark(id, 3)
        #expect(try await wait(reader, for: 3).last == "marks [3]")
        #expect(try await eventually { await reader.validTokens == 0 })
        #expect(await other.seen.count == 1)
        await reader.close()
    }

    @Test(arguments: [true, false])
    func `handlers receive the last change of a deleted object and its collections`(
        isOwn: Bool
    ) async throws {
        let reader = Reader(.memory("last \(isOwn)"))
        let writer = isOwn ? reader : Reader(.memory("last \(isOwn)"))
        let id = try await reader.observeAll(1)
        if !isOwn { _ = try await writer.add(2, "opens the store") }
        // Commits before the first delivery are not reported.
        _ = try await eventually { await reader.hasDelivered() }
        try await writer.rename(id, to: "Emma")
        #expect(try await wait(reader, for: 2).sorted() == ["object changed", "title changed"])
        try await writer.delete(id)
        #expect(
            try await Set(wait(reader, for: 7).dropFirst(2)) == [
                "object deleted", "title deleted", "marks -[0, 1] +[]", "tags -[0, 1] +[]",
                "copies -[0] +[]",
            ])
        #expect(await reader.validTokens == 0)
        await reader.close()
        await writer.close()
    }

    @Test func `a sequence receives changes and ends with its task`() async throws {
        let reader = Reader(.memory("sequence"))
        let writer = Reader(.memory("sequence"))
        let loop = Task { try await reader.follow {} }
        #expect(try await wait(reader, for: 1) == ["initial 0"])
        let id = try await writer.add(1, "Dune")
        #expect(try await wait(reader, for: 2).last == "[\"Dune\"] [] [0] []")
        try await writer.rename(id, to: "Dune II")
        #expect(try await wait(reader, for: 3).last == "[\"Dune II\"] [] [] [0]")
        loop.cancel()
        try await loop.value
        #expect(await reader.seen.last == "end")
        await reader.close()
        await writer.close()
    }

    @Test
    func `a sequence that cannot read its first version begins with the next one`() async throws {
        let store = try Store(
            .memory("unreadable"), models: Book.self, Author.self, Shelf.self, on: nil)
        try store.writeNow { tx in
            for isbn in 0..<3000 { try tx.insert(Book(isbn: isbn, title: "\(isbn)")) }
        }
        var changes = store.all(Book.self).sorted(by: \.title).changes().makeAsyncIterator()
        let error = await #expect(throws: StoreError.self) {
            try await Interruption.$current.withValue(Interruption { true }) {
                _ = try await changes.next()
            }
        }
        #expect(error?.code == .interrupted)
        try store.writeNow { tx in try tx.insert(Book(isbn: 3000, title: "last")) }
        guard case .initial(let rows) = try await changes.next() else {
            Issue.record("no first element")
            return
        }
        #expect(rows.count == 3001)
    }

    @Test func `a sequence of an object ends with its deletion`() async throws {
        let reader = Reader(.memory("object"))
        let writer = Reader(.memory("object"))
        let id = try await writer.add(1, "Dune")
        _ = try await reader.add(2, "Other")
        let loop = Task { try await reader.followObject(id) {} }
        let values = Reader(.memory("object"))
        _ = try await values.add(3, "Third")
        let valueLoop = Task { try await values.followValues(id) }
        #expect(try await wait(values, for: 1) == ["Dune"])
        try await writer.rename(id, to: "A")
        #expect(try await wait(values, for: 2) == ["Dune", "A"])
        #expect(try await wait(reader, for: 1) == ["Dune -> A A"])
        try await writer.delete(id)
        try await loop.value
        try await valueLoop.value
        #expect(await reader.seen == ["Dune -> A A", "deleted A", "end"])
        #expect(await values.seen == ["Dune", "A", "end"])
        for each in [reader, writer, values] { await each.close() }
    }

    @Test func `a store of a task reads, writes and follows changes`() async throws {
        let store = try Store(.memory("task"), models: Book.self, Author.self, Shelf.self, on: nil)
        try await store.write { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        var titles: [[String]] = []
        for try await change in store.all(Book.self).changes() {
            titles.append(change.rows.map(\.title))
            if titles.count == 1 {
                try await store.write { tx in try tx.insert(Book(isbn: 2, title: "Emma")) }
            } else {
                break
            }
        }
        #expect(titles == [["Dune"], ["Dune", "Emma"]])
        store.close()
    }
}
