import Foundation
import Moonpool
import TestThreads
import Testing

private struct Reading: Model, Codable, Equatable {
    var id = UUID()
    var at = Date(timeIntervalSince1970: 0)
    var amount: Decimal = 0
    var raw = Data()
    var until: Date?
    var dates: [Date] = []
    var extra: Mixed = nil
    var sensor: Link<Sensor>?
    var sources = Backlinks(\Sensor.last)
    static let options = ModelOptions<Reading>(primaryKey: \.id)
}

private struct Sensor: Model, Codable, Equatable {
    var name = ""
    var last: Link<Reading>?
    static let options = ModelOptions<Sensor>(primaryKey: \.name)
}

private struct Mood: Model {
    enum Kind: Int, StoredValue { case dark = 1, bright }
    var kind: Kind? = .bright
    var always = Kind.dark
    var list: [Kind] = []
}

private struct MoodNumbers: Model {
    var kind: Int? = 2
    var always = 1
    var list: [Int] = []
    static let className = "Mood"
}

@Suite struct ValueTests {
    @Test func `Foundation's values are stored, read and queried`() throws {
        let store = try Store(.memory("foundation"), models: Reading.self, Sensor.self, on: nil)
        defer { store.close() }
        let moment = Date(timeIntervalSince1970: 1_700_000_000.25)
        let value = Reading(
            at: moment, amount: Decimal(string: "12.345")!, raw: Data([1, 2]), until: moment,
            dates: [moment], extra: ["n": 1])
        let live = try store.writeNow { tx in try tx.insert(value) }
        #expect(live.at == moment && live.until == moment && live.amount == value.amount)
        #expect(live.raw == Data([1, 2]) && live.id == value.id)
        #expect(Array(live.dates) == [moment])
        #expect(try live.detached() == value)
        #expect(try store.find(Reading.self, value.id) == live)
        let readings = store.all(Reading.self)
        #expect(
            readings.where { $0.at > Date(timeIntervalSince1970: 5) && $0.amount < 13 }.count == 1)
        #expect(readings.where { $0.id == value.id && $0.until != nil }.count == 1)
        #expect(readings.sum(of: \.amount) == value.amount)
        let long = Decimal(string: "1.2345678901234567890123456789012345678")!
        let error = #expect(throws: StoreError.self) {
            try store.writeNow { _ in try live.set(\.amount, to: long) }
        }
        #expect(error?.code == .outOfRange)
    }

    @Test func `a model with links, mixed values and backlinks is Codable`() throws {
        let store = try Store(.memory("codable"), models: Reading.self, Sensor.self, on: nil)
        defer { store.close() }
        let id = UUIDValue(UUID())
        let value = Reading(
            at: Date(timeIntervalSince1970: 7), amount: 3, raw: Data([9]),
            extra: [
                "date": .date(Timestamp(microseconds: 5_000_000)), "uuid": .uuid(id),
                "list": [1, 2.5, "x", nil],
                "data": .data([1]), "decimal": .decimal(DecimalValue("0.10")!),
            ],
            sensor: Link(primaryKey: "roof"))
        let data = try JSONEncoder().encode(value)
        let decoded = try JSONDecoder().decode(Reading.self, from: data)
        #expect(decoded == value)
        #expect(!String(decoding: data, as: UTF8.self).contains("sources"))
        // A link read from a store is encoded as the primary key of the linked object.
        let live = try store.writeNow { tx in
            try tx.insert(Sensor(name: "roof"))
            return try tx.insert(decoded)
        }
        let again = try JSONDecoder().decode(
            Reading.self, from: JSONEncoder().encode(try live.detached()))
        #expect(again.sensor == Link(primaryKey: "roof"))
        #expect(live.sensor?.name == "roof")
    }

    @Test func `a link decodes from what it encodes, for every type of key`() throws {
        func expectSame<M: Model>(_ link: Link<M>) throws {
            let data = try JSONEncoder().encode([link])
            #expect(
                try JSONDecoder().decode([Link<M>].self, from: data) == [link],
                "\(String(decoding: data, as: UTF8.self))")
        }
        let store = try Store(
            .memory("keys"), models: IntKey.self, TextKey.self, UUIDKey.self, ValueKey.self,
            ObjectKey.self, NoKey.self, on: nil)
        defer { store.close() }
        try store.writeNow { tx in
            let id = UUID()
            try expectSame(Link<IntKey>(primaryKey: 1))
            try expectSame(Link<TextKey>(primaryKey: "a"))
            try expectSame(Link<UUIDKey>(primaryKey: id))
            try expectSame(Link<ValueKey>(primaryKey: UUIDValue.random()))
            try expectSame(Link<ObjectKey>(primaryKey: ObjectIDValue.generate()))
            try expectSame(Link(try tx.insert(NoKey())))
            // The form of the key itself is accepted as well.
            let plain = Data("[\"\(id.uuidString)\"]".utf8)
            #expect(
                try JSONDecoder().decode([Link<UUIDKey>].self, from: plain)
                    == [Link(primaryKey: id)])
        }
    }

    @Test func `an optional raw value without a case reads as nil`() throws {
        let numbers = try Store(.memory("moods"), models: MoodNumbers.self, on: nil)
        defer { numbers.close() }
        try numbers.writeNow { tx in
            var value = MoodNumbers()
            (value.kind, value.always) = (9, 9)
            try tx.insert(value)
        }
        let store = try Store(.memory("moods"), models: Mood.self, on: nil)
        defer { store.close() }
        let mood = try #require(store.all(Mood.self).first)
        #expect(mood.kind == nil)
        #expect(mood.always == .dark)
        #expect(try mood.freeze().kind == nil)
        let error = #expect(throws: StoreError.self) { try mood.get(\.kind) }
        #expect(error?.code == .typeMismatch)
        try store.writeNow { _ in mood.kind = .bright }
        #expect(mood.kind == .bright)
    }

    @Test func `a condition after a limit stays after it in the text`() throws {
        let store = try Store(
            .memory("predicate"), models: Book.self, Author.self, Shelf.self, on: nil)
        defer { store.close() }
        try store.writeNow { tx in
            for number in 1...6 {
                try tx.insert(Book(isbn: number, title: number < 4 ? "a" : "b", pages: number * 10))
            }
        }
        let books = store.all(Book.self)
        func check(_ results: Results<Book>, _ text: String, _ isbns: [Int]) throws {
            #expect(results.predicate == text)
            #expect(results.map(\.isbn) == isbns)
            #expect(try books.where(results.predicate).map(\.isbn) == isbns)
        }
        try check(
            books.sorted(by: \.isbn, .descending).limit(3).where { $0.pages < 50 },
            "truepredicate sort(isbn desc) limit(3) where(pages < 50)", [4])
        try check(
            books.distinct(\.title).where { $0.title == "b" }.limit(1),
            "truepredicate distinct(title) where(title == 'b') limit(1)", [4])
        try check(
            books.sorted(by: \.isbn, .descending).where { $0.pages < 50 }.where { $0.isbn > 1 },
            "(pages < 50) and (isbn > 1) sort(isbn desc)", [4, 3, 2])
        try check(
            books.where("isbn > $1 limit(2)", 2).where("pages > 30 sort(pages desc)"),
            "isbn > 2 limit(2) where(pages > 30) sort(pages desc)", [4])
    }

    @Test func `opening on an actor migrates the file and shows the old objects`() async throws {
        let folder = try TemporaryFolder()
        let location = StoreLocation.file("\(folder.path)/moods.moonpool")
        let old = try Store(location, models: MoodNumbers.self, on: nil)
        try old.writeNow { tx in
            for number in 1...3 {
                var value = MoodNumbers()
                value.always = number
                try tx.insert(value)
            }
        }
        old.close()
        let sums = try await Migrator().run(location)
        #expect(sums == [101, 102, 103])
    }
}

private struct NewMood: Model {
    var total = 0
    static let className = "Mood"
}

private actor Migrator {
    func run(_ location: StoreLocation) async throws -> [Int] {
        do {
            _ = try await Store.open(location, models: NewMood.self)
            return []
        } catch let error as StoreError {
            #expect(error.code == .migrationNeeded)
        }
        let store = try await Store.open(location, models: NewMood.self, version: 2) { migration in
            #expect(try migration.oldObjects("Mood").count == 3)
            #expect(try migration.deleteProperty("kind", of: NewMood.self))
            #expect(try migration.deleteProperty("list", of: NewMood.self))
            try migration.forEach(NewMood.self) { old, new in
                let number: Int = try old["always"]
                new.total = 100 + number
            }
            // Reading a property does not delete it.
            #expect(try migration.deleteProperty("always", of: NewMood.self))
        }
        defer { store.close() }
        return store.all(NewMood.self).map(\.total)
    }
}

private struct IntKey: Model {
    var id = 1
    static let options = ModelOptions<IntKey>(primaryKey: \.id)
}
private struct TextKey: Model {
    var id = "a"
    static let options = ModelOptions<TextKey>(primaryKey: \.id)
}
private struct UUIDKey: Model {
    var id = UUID()
    static let options = ModelOptions<UUIDKey>(primaryKey: \.id)
}
private struct ValueKey: Model {
    var id = UUIDValue.random()
    static let options = ModelOptions<ValueKey>(primaryKey: \.id)
}
private struct ObjectKey: Model {
    var id = ObjectIDValue.generate()
    static let options = ModelOptions<ObjectKey>(primaryKey: \.id)
}
private struct NoKey: Model {
    var id = 1
    @Test func `a live map keeps keys that differ only in their normalization`() async throws {
        let store = try Store(.memory("keys"), models: Book.self, Author.self, Shelf.self)
        defer { store.close() }
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let book = try await store.write { tx in
            let book = try tx.insert(Book(isbn: 1))
            book.notes[composed] = "one"
            book.notes[decomposed] = "two"
            let copy = try tx.insert(Book(isbn: 2))
            copy.notes = book.notes
            let literal = try tx.insert(Book(isbn: 3))
            literal.notes = [composed: "one", decomposed: "zero", decomposed: "two"]
            return book
        }
        for book in store.all(Book.self) {
            #expect(book.notes.count == 2 && book.notes[composed] == "one")
            #expect(book.notes[decomposed] == "two")
            #expect(book.notes.map(\.value) == ["two", "one"])
        }
        // A dictionary has the first entry in the order of the bytes.
        #expect(try book.get(\.notes) == [composed: "two"])
        #expect(try book.notes.detached() == [composed: "two"])
        #expect(try book.freeze().notes == [composed: "two"])
        let notes: [String: String] = book.notes
        #expect(notes == [composed: "two"])
    }
}
