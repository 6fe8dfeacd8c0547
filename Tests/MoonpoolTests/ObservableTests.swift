import Moonpool
import Observation
import Synchronization
import TestThreads
import Testing

/// A tracking scope that counts whether it was called.
private func track<Value>(_ flag: Flag, _ read: () -> Value) -> Value {
    withObservationTracking(read) { flag.set() }
}

private struct BookCard: Projection {
    var title: String
    var writer: String?
    var sequels: Int
    var firstSequel: String?
    var best: Int?
    var titlesOfWriter: Int
    var tags: Set<String>
    static let projection = ProjectionMap(
        of: Book.self, BookCard.init, \.title, \.author.name, \.sequels.count,
        \.sequels[0].title, \.marks.max, \.author.books.count, \.tags)
}

/// Writes to a store from another actor.
private actor Writer {
    let store: Store
    init(_ location: StoreLocation) throws {
        store = try Store(location, models: Book.self, Author.self, Shelf.self)
    }
    func write(_ body: @Sendable (Transaction) throws -> Void) async throws {
        try await store.write { tx in try body(tx) }
    }
    func change(_ isbn: Int, _ body: @Sendable (Live<Book>) throws -> Void) async throws {
        try await store.write { _ in try body(try #require(try store.find(Book.self, isbn))) }
    }
    func close() { store.close() }
}

/// Tracks reads on an actor that is not a global actor.
private actor Tracker {
    private let location: StoreLocation
    private let isObservable: Bool?
    private var store: Store?

    init(_ location: StoreLocation, isObservable: Bool?) {
        self.location = location
        self.isObservable = isObservable
    }
    private func opened() throws -> Store {
        if let store { return store }
        var options = StoreOptions()
        options.isObservable = isObservable
        let created = try Store(
            location, models: Book.self, Author.self, Shelf.self, options: options)
        store = created
        return created
    }
    func trackTitle(of isbn: Int, _ flag: Flag) throws -> String {
        let book = try #require(try opened().find(Book.self, isbn))
        return track(flag) { book.title }
    }
    func title(of isbn: Int) throws -> String? { try opened().find(Book.self, isbn)?.title }
    func close() { store?.close() }
}

@Suite struct ObservableTests {
    @MainActor private func open(_ location: StoreLocation) throws -> Store {
        let store = try Store(location, models: Book.self, Author.self, Shelf.self)
        try store.writeNow { tx in
            let ann = try tx.insert(Author(name: "Ann"))
            try tx.insert(Book(isbn: 1, title: "Dune", marks: [1]))
            try tx.insert(Book(isbn: 2, title: "Emma", author: Link(ann)))
        }
        return store
    }

    @MainActor @Test func `a scope is called only for properties that it has read`() async throws {
        let store = try open(.memory("observable"))
        defer { store.close() }
        let writer = try Writer(.memory("observable"))
        let dune = try #require(try store.find(Book.self, 1))
        let flag = Flag()
        #expect(track(flag) { dune.title } == "Dune")
        try await writer.change(1) { $0.pages = 9 }
        try await writer.change(2) { $0.title = "Emma II" }
        #expect(
            try await eventually { dune.pages == 9 && store.all(Book.self)[1].title == "Emma II" })
        #expect(!flag.isSet)
        try await writer.change(1) { $0.title = "Dune II" }
        #expect(try await eventually { flag.isSet })
        #expect(dune.title == "Dune II")
        let own = Flag()
        _ = track(own) { dune.pages }
        try store.writeNow { _ in dune.pages = 10 }
        #expect(try await eventually { own.isSet })
        await writer.close()
    }

    @MainActor @Test func `reads of links, collections and results, and lookups, are registered`()
        async throws
    {
        let store = try open(.memory("observable-kinds"))
        defer { store.close() }
        let (dune, emma) = (
            try #require(try store.find(Book.self, 1)), try #require(try store.find(Book.self, 2))
        )
        let ann = try #require(try store.find(Author.self, "Ann"))
        let id = dune.objectID
        func expect(
            _ isCalled: Bool, _ change: (Transaction) throws -> Void, _ read: () throws -> Void,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let flag = Flag()
            try track(flag) { Result { try read() } }.get()
            try store.writeNow(change)
            // A report occurs in a turn of the actor, so a second report can follow it.
            let later = Flag()
            _ = track(later) { emma.rating }
            try store.writeNow { _ in emma.rating += 1 }
            #expect(try await eventually { later.isSet }, sourceLocation: sourceLocation)
            #expect(flag.isSet == isCalled, sourceLocation: sourceLocation)
        }
        try await expect(true, { _ in dune.author = ann }, { _ = dune.author?.name })
        try await expect(false, { _ in ann.born = nil }, { _ = dune.author?.born })
        try await expect(true, { _ in dune.marks.append(2) }, { _ = dune.marks.count })
        try await expect(true, { _ in dune.tags.insert("a") }, { _ = Array(dune.tags) })
        try await expect(true, { _ in dune.notes["a"] = "b" }, { _ = dune.notes["a"] })
        try await expect(true, { _ in dune.origin.wing = "w" }, { _ = dune.origin.wing })
        try await expect(true, { _ in emma.author = nil }, { _ = ann.books.count })
        try await expect(true, { _ in dune.code = 8 }, { _ = try dune.get(\.code) })
        try await expect(true, { _ in dune.weight = 8 }, { _ = try dune.detached() })
        try await expect(
            true, { tx in try tx.insert(Book(isbn: 3)) },
            { _ = store.all(Book.self).count })
        try await expect(
            false, { tx in try tx.insert(Book(isbn: 4, title: "C")) },
            { _ = store.all(Book.self).where { $0.title == "B" }.first })
        try await expect(
            true, { _ in dune.pages = 100 },
            { _ = store.all(Book.self).max(of: \.pages) })
        try await expect(
            true, { tx in try tx.insert(Book(isbn: 5)) },
            { _ = try store.find(Book.self, 5) })
        try await expect(
            true, { _ in dune.title = "Z" },
            { _ = store.all(Book.self).sectioned(by: \.title).count })
        try await expect(true, { tx in try tx.delete(dune) }, { _ = store[id] != nil })
    }

    @MainActor
    @Test(arguments: [
        ("title", true), ("author", true), ("sequels", true), ("sequel title", true),
        ("marks", true), ("tags", true), ("books of the author", true),
        ("rating", false), ("author's birth", false),
    ])
    func `a projection registers the values that its paths lead to`(
        change: String, isRead: Bool
    ) async throws {
        let store = try open(.memory("observable-projections of \(change)"))
        defer { store.close() }
        let dune = try #require(try store.find(Book.self, 1))
        let emma = try #require(try store.find(Book.self, 2))
        let ann = try #require(try store.find(Author.self, "Ann"))
        try store.writeNow { _ in
            dune.author = ann
            dune.sequels.append(emma)
        }
        let card = dune.projected(BookCard.self)
        let reads: [(String, () throws -> Void)] = [
            ("title", { _ = card.title }), ("author", { _ = card.writer }),
            ("sequels", { _ = card.sequels }), ("sequel title", { _ = card.firstSequel }),
            ("marks", { _ = card.best }), ("tags", { _ = card.tags }),
            ("books of the author", { _ = card.titlesOfWriter }),
            ("everything", { _ = try card.detached() }),
        ]
        let flags = reads.map { _ in Flag() }
        for (flag, read) in zip(flags, reads) { try track(flag) { Result { try read.1() } }.get() }
        try store.writeNow { tx in
            switch change {
            case "title": dune.title = "Dune I"
            case "author": dune.author = nil
            case "sequels": dune.sequels.append(dune)
            case "sequel title": emma.title = "Emma I"
            case "marks": dune.marks.append(9)
            case "tags": dune.tags.insert("sand")
            case "books of the author": try tx.insert(Book(isbn: 3, author: Link(ann)))
            case "rating": dune.rating = 3
            default: ann.born = Timestamp(microseconds: 1)
            }
        }
        // A report comes in a turn of the actor, so that a second one follows it.
        let later = Flag()
        _ = track(later) { emma.weight }
        try store.writeNow { _ in emma.weight += 1 }
        #expect(try await eventually { later.isSet })
        let called = zip(reads, flags).filter { $1.isSet }.map(\.0.0)
        let expected: [String] =
            switch change {
            case "author": ["author", "books of the author", "everything"]
            case "sequels": ["sequels", "sequel title", "everything"]
            default: isRead ? [change, "everything"] : []
            }
        #expect(called == expected)
    }

    @MainActor @Test func `isInvalidated of objects and collections is reported`() async throws {
        let store = try open(.memory("observable-invalidated"))
        defer { store.close() }
        let dune = try #require(try store.find(Book.self, 1))
        let sequels = dune.sequels
        let flags = (0..<2).map { _ in Flag() }
        #expect(!track(flags[0]) { dune.isInvalidated })
        #expect(!track(flags[1]) { sequels.isInvalidated })
        try store.writeNow { _ in dune.title = "Dune II" }
        let later = Flag()
        _ = track(later) { dune.title }
        try store.writeNow { _ in dune.title = "Dune III" }
        #expect(try await eventually { later.isSet })
        #expect(!flags[0].isSet && !flags[1].isSet)
        try store.writeNow { tx in try tx.delete(dune) }
        #expect(try await eventually { flags[0].isSet && flags[1].isSet })
        #expect(dune.isInvalidated && sequels.isInvalidated)
    }

    @MainActor @Test func `a loop over Observations receives values until the object is deleted`()
        async throws
    {
        let store = try open(.memory("observations"))
        defer { store.close() }
        let writer = try Writer(.memory("observations"))
        let dune = try #require(try store.find(Book.self, 1))
        let titles = Observations<String, Never>.untilFinished {
            dune.isValid ? .next(dune.title) : .finish
        }
        let loop = Task { @MainActor in
            var seen: [String] = []
            for await title in titles {
                seen.append(title)
                switch seen.count {
                case 1: try await writer.change(1) { $0.title = "Dune II" }
                case 2:
                    try await writer.write { tx in
                        try tx.delete(tx.store.all(Book.self).where { $0.isbn == 1 })
                    }
                default: break
                }
            }
            return seen
        }
        #expect(try await loop.value == ["Dune", "Dune II"])
        await writer.close()
    }

    @Test(arguments: [(true, true), (nil, false)])
    func `another actor tracks reads of an observable store`(
        isObservable: Bool?, isCalled: Bool
    ) async throws {
        let location = StoreLocation.memory("observable-actor-\(isCalled)")
        let writer = try Writer(location)
        try await writer.write { tx in try tx.insert(Book(isbn: 1, title: "Dune")) }
        let tracker = Tracker(location, isObservable: isObservable)
        let flag = Flag()
        #expect(try await tracker.trackTitle(of: 1, flag) == "Dune")
        try await writer.change(1) { $0.title = "Dune II" }
        #expect(try await eventually { try await tracker.title(of: 1) == "Dune II" })
        if isCalled { #expect(try await eventually { flag.isSet }) }
        #expect(flag.isSet == isCalled)
        await tracker.close()
        await writer.close()
    }

    @MainActor @Test func `a commit of another process is reported`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("books.moonpool")
        let store = try open(.file(path))
        defer { store.close() }
        let dune = try #require(try store.find(Book.self, 1))
        let flag = Flag()
        _ = track(flag) { dune.title }
        await #expect(processExitsWith: .success) {
            [path = path as String] in
            let store = try Store(.file(path), models: Book.self, Author.self, Shelf.self, on: nil)
            try store.writeNow { _ in try store.find(Book.self, 1)?.title = "Dune II" }
            store.close()
        }
        #expect(try await eventually { flag.isSet })
        #expect(dune.title == "Dune II")
    }

    @MainActor @Test func `closing the store calls no scope`() async throws {
        let store = try open(.memory("observable-close"))
        let dune = try #require(try store.find(Book.self, 1))
        let flag = Flag()
        _ = track(flag) { dune.title }
        store.close()
        #expect(!dune.isValid)
        #expect(!flag.isSet)
    }
}
