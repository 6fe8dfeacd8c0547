import Moonpool
import TestThreads
import Testing

private struct Kitten: Model {
    var chip = ""
    var lives: Int? = 9
    var mood = "calm"
    var toys: [Link<Yarn>] = []
    static let options = ModelOptions<Kitten>(
        rules: [
            .unique(\.chip), .pattern(\.chip, "^%d*$"), .minimum(\.lives, 0), .maximum(\.lives, 9),
            .oneOf(\.mood, ["calm", "wild"]), .owns(\.toys),
        ])
}
private struct Yarn: Model { var color = "" }

@Suite struct TypedModelTests {
    private func open(_ name: String = #function) throws -> Store {
        try Store(.memory(name), models: Book.self, Author.self, Shelf.self)
    }

    @Test func `a model declares rules for its values, and links that own their objects`() throws {
        let store = try Store(.memory("ruled kittens"), models: Kitten.self, Yarn.self)
        defer { store.close() }
        let tom = try store.writeNow { tx in
            try tx.insert(Kitten(chip: "1", toys: [.new(Yarn(color: "red"))]))
        }
        func refused(_ code: ErrorCode, _ kitten: Kitten) -> Bool {
            do {
                _ = try store.writeNow { tx in try tx.insert(kitten) }
                return false
            } catch { return (error as? any MoonpoolError)?.code == code }
        }
        #expect(refused(.duplicateKey, Kitten(chip: "1")))
        #expect(refused(.invalidValue, Kitten(chip: "a")))
        #expect(refused(.invalidValue, Kitten(chip: "2", lives: 10)))
        #expect(refused(.invalidValue, Kitten(chip: "2", mood: "odd")))
        #expect(!refused(.invalidValue, Kitten(chip: "2", lives: nil)))
        try store.writeNow { tx in try tx.delete(tom) }
        #expect(store.all(Yarn.self).count == 0 && store.all(Kitten.self).count == 1)
    }

    @Test func `a model lists its stored properties`() throws {
        let properties = try Book.storedProperties
        #expect(properties.first?.name == "isbn" && properties.first?.isPrimaryKey == true)
        let types = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.typeName) })
        #expect(
            types["pages"] == "int?" && types["sequels"] == "Book[]" && types["tags"] == "string<>")
        let pages = properties.first { $0.name == "pages" }
        #expect(pages?.storedName == "page_count")
        let title = properties.first { $0.name == "title" }
        #expect(title?.isIndexed == true && title?.isFullText == true)
        #expect(try Author.storedProperties.last?.typeName == "backlinks Book.author")
    }

    @Test func `properties are read and assigned by their names`() throws {
        let store = try open()
        defer { store.close() }
        let book = try store.writeNow { tx in
            try tx.insert(Book(isbn: 1, title: "Dune", pages: 612, rating: 4.5, isLent: true))
        }
        #expect(book.isbn == 1)
        #expect(book.title == "Dune")
        #expect(book.pages == 612)
        #expect(book.rating == 4.5)
        #expect(book.weight == 1)
        #expect(book.isLent)
        #expect(book.genre == .novel)
        #expect(book.mood == nil)
        #expect(book.code == 7)
        #expect(book.key == UUIDValue(high: 1, low: 2))
        #expect(book.added == Timestamp(microseconds: 0))
        try store.writeNow { _ in
            book.title = "Dune II"
            book.pages = nil
            book.rating += 0.25
            book.weight = 2
            book.isLent = false
            book.genre = .science
            book.mood = .bright
            book.code = 255
            book.price = DecimalValue("9.99")!
            book.extra = ["chip": 12, "seen": [1, 4]]
            book.cover = [1, 2, 3]
        }
        #expect(book.title == "Dune II")
        #expect(book.pages == nil)
        #expect(book.rating == 4.75)
        #expect(book.weight == 2)
        #expect(!book.isLent)
        #expect(book.genre == .science)
        #expect(book.mood == .bright)
        #expect(book.code == 255)
        #expect(book.price == DecimalValue("9.99")!)
        #expect(book.extra == ["chip": 12, "seen": [1, 4]])
        #expect(book.cover == [1, 2, 3])
    }

    @Test func `links show the linked object, and backlinks the linking ones`() throws {
        let store = try open()
        defer { store.close() }
        let (dune, ann) = try store.writeNow { tx in
            let ann = try tx.insert(Author(name: "Ann"))
            let dune = try tx.insert(Book(isbn: 1, title: "Dune", author: Link(ann)))
            dune.sequels.append(
                try tx.insert(Book(isbn: 2, title: "Messiah", author: Link(primaryKey: "Ann"))))
            return (dune, ann)
        }
        #expect(dune.author == ann)
        #expect(dune.author?.name == "Ann")
        #expect(dune.sequels.first?.title == "Messiah")
        #expect(ann.books.count == 2)
        #expect(ann.books.map(\.title) == ["Dune", "Messiah"])
        #expect(ann.books.where { $0.isbn > 1 }.count == 1)
        try store.writeNow { _ in dune.author = nil }
        #expect(dune.author == nil)
        #expect(ann.books.map(\.title) == ["Messiah"])
        try store.writeNow { _ in dune.author = ann }
        #expect(ann.books.count == 2)
    }

    @Test func `collections are changed in place and by literals`() throws {
        let store = try open()
        defer { store.close() }
        let book = try store.writeNow { tx in
            let book = try tx.insert(
                Book(isbn: 1, tags: ["old"], marks: [1, 2], notes: ["a": "b"]))
            book.tags.insert("good")
            book.marks.append(3)
            book.marks.insert(0, at: 0)
            book.notes["food"] = "dry"
            return book
        }
        #expect(Set(book.tags) == ["old", "good"])
        #expect(Array(book.marks) == [0, 1, 2, 3])
        #expect(book.notes["food"] == "dry")
        #expect(book.notes.keys == ["a", "food"])
        try store.writeNow { _ in
            book.tags = ["a"]
            book.marks = [9, 8]
            book.notes = ["x": "y"]
            book.marks[0] = 7
            book.marks.move(from: 0, to: 1)
            book.notes["z"] = "w"
            book.notes["x"] = nil
        }
        #expect(Array(book.tags) == ["a"])
        #expect(Array(book.marks) == [8, 7])
        #expect(try book.notes.detached() == ["z": "w"])
    }

    @Test func `embedded objects belong to their property`() throws {
        let store = try open()
        defer { store.close() }
        let book = try store.writeNow { tx in
            let book = try tx.insert(Book(isbn: 1, place: Shelf(wing: "attic", number: 3)))
            book.place?.number = 4
            book.copies.append(Shelf(wing: "cellar"))
            return book
        }
        #expect(book.place?.wing == "attic")
        #expect(book.place?.number == 4)
        #expect(book.origin.wing == "hall")
        #expect(book.copies.map(\.wing) == ["cellar"])
        try store.writeNow { _ in
            try book.set(\.place, to: Shelf(wing: "garage"))
            book.origin.wing = "loft"
        }
        #expect(book.place?.wing == "garage")
        #expect(try book.get(\.place) == Shelf(wing: "garage"))
        #expect(book.origin.wing == "loft")
        try store.writeNow { _ in book.place = nil }
        #expect(book.place == nil)
    }

    @Test func `a detached value has all properties and can be inserted again`() throws {
        let store = try open()
        defer { store.close() }
        var first = Book(
            isbn: 1, title: "Dune", pages: 5, price: DecimalValue("1.5")!, rating: 2, isLent: true,
            genre: .poetry, mood: .dark, tags: ["a", "b"], marks: [1, 2], notes: ["k": "v"],
            place: Shelf(wing: "attic", number: 1), copies: [Shelf(number: 1), Shelf(number: 2)],
            cover: [1, 2], extra: [1, "two"])
        first.code = 9
        let book = try store.writeNow { tx in try tx.insert(first) }
        let copy = try book.detached()
        #expect(copy.title == "Dune" && copy.pages == 5 && copy.price == DecimalValue("1.5")!)
        #expect(copy.rating == 2 && copy.isLent && copy.genre == .poetry && copy.mood == .dark)
        #expect(copy.tags == ["a", "b"] && copy.marks == [1, 2] && copy.notes == ["k": "v"])
        #expect(copy.place == Shelf(wing: "attic", number: 1) && copy.code == 9)
        #expect(copy.copies == [Shelf(number: 1), Shelf(number: 2)])
        #expect(copy.cover == [1, 2] && copy.extra == [1, "two"])
        try store.writeNow { tx in try tx.insert(copy, .updatingModified) }
        #expect(store.all(Book.self).count == 1)
    }

    @Test func `an error rolls back a write, including an error of an assignment`() throws {
        struct Oops: Error {}
        let store = try open()
        defer { store.close() }
        #expect(throws: Oops.self) {
            try store.writeNow { tx in
                try tx.insert(Book(isbn: 1))
                throw Oops()
            }
        }
        #expect(store.all(Book.self).isEmpty)
        let book = try store.writeNow { tx in try tx.insert(Book(isbn: 1)) }
        let error = #expect(throws: StoreError.self) {
            try store.writeNow { tx in
                try tx.delete(book)
                book.title = "gone"
            }
        }
        #expect(error?.code == .invalidObject)
        #expect(book.isValid)
        let duplicate = #expect(throws: StoreError.self) {
            try store.writeNow { tx in try tx.insert(Book(isbn: 1)) }
        }
        #expect(duplicate?.code == .duplicateKey)
        #expect(duplicate?.code == "duplicate_key")
    }

    @Test func `a query compiles to the text language`() throws {
        let store = try open()
        defer { store.close() }
        try store.writeNow { tx in
            let ann = try tx.insert(Author(name: "Ann"))
            for number in 1...9 {
                try tx.insert(
                    Book(
                        isbn: number, title: "Book \(number)",
                        pages: number == 5 ? nil : number * 100,
                        isLent: number % 2 == 0, genre: number > 6 ? .science : .novel,
                        author: number < 4 ? Link(ann) : nil,
                        tags: number == 2 ? ["two"] : [], marks: Array(0..<number)))
            }
        }
        let books = store.all(Book.self)
        func isbns(_ results: Results<Book>) -> [Int] { results.map(\.isbn) }
        #expect(isbns(books.where { $0.pages > 700 }) == [8, 9])
        #expect(isbns(books.where { $0.pages == nil }) == [5])
        #expect(isbns(books.where { $0.isLent && $0.pages < 500 }) == [2, 4])
        #expect(isbns(books.where { !($0.isLent) && $0.isbn != 1 }) == [3, 5, 7, 9])
        #expect(isbns(books.where { $0.genre == .science }) == [7, 8, 9])
        #expect(
            isbns(books.where { $0.author.name.hasPrefix("a", .caseInsensitive) }) == [1, 2, 3])
        #expect(isbns(books.where { $0.author == nil && $0.isbn <= 5 }) == [4, 5])
        #expect(isbns(books.where { $0.tags.contains("two") }) == [2])
        #expect(isbns(books.where { $0.marks.any > 7 }) == [9])
        #expect(isbns(books.where { $0.marks.count >= 8 }) == [8, 9])
        #expect(isbns(books.where { $0.isbn.isIn([2, 7, 12]) }) == [2, 7])
        #expect(isbns(books.where { $0.isbn.isBetween(3, 5) }) == [3, 4, 5])
        #expect(isbns(books.where { $0.title.matches("9") }) == [9])
        let ann = try #require(try store.find(Author.self, "Ann"))
        #expect(isbns(books.where { $0.author == ann }) == [1, 2, 3])
        #expect(isbns(books.sorted(by: \.pages, .descending).limit(2)) == [9, 8])
        #expect(
            isbns(books.sorted(by: .descending(\.isLent), .descending(\.isbn)).limit(3)) == [
                8, 6, 4,
            ])
        #expect(books.sum(of: \.isbn) == 45)
        #expect(books.max(of: \.pages) == 900)
        #expect(books.min(of: \.pages) == 100)
        #expect(books.average(of: \.isbn) == 5)
        #expect(books.distinct(\.genre).count == 2)
        let typed = books.where { $0.pages > 200 && $0.title != "it's" }.sorted(by: \.title).limit(
            3)
        #expect(typed.predicate == "(pages > 200) and (title != 'it\\'s') sort(title) limit(3)")
        #expect(isbns(try books.where(typed.predicate)) == isbns(typed))
        #expect(try books.where("pages > $1 and author.name = $2", 200, "Ann").map(\.isbn) == [3])
        #expect(try typed.explain().contains("Book"))
    }

    @Test func `a frozen object is readable on any thread, after changes and after closing`()
        async throws
    {
        let store = try open()
        let book = try store.writeNow { tx in
            let ann = try tx.insert(Author(name: "Ann"))
            return try tx.insert(
                Book(
                    isbn: 1, title: "Dune", author: Link(ann), marks: [1, 2],
                    place: Shelf(number: 5)))
        }
        let past = try book.freeze()
        let all = try store.all(Book.self).freeze()
        try store.writeNow { tx in
            book.title = "changed"
            try tx.insert(Book(isbn: 2))
        }
        #expect(try past.thaw(in: store) == book)
        store.close()
        let seen = await Task.detached {
            (past.title, past.author?.name, past.marks, past.place?.number, all.map(\.title))
        }.value
        #expect(seen.0 == "Dune" && seen.1 == "Ann" && seen.2 == [1, 2] && seen.3 == 5)
        #expect(seen.4 == ["Dune"])
    }
}
