import Moonpool

// The models of the tests: a library with every kind of property.

struct Author: Model {
    var name = ""
    var born: Timestamp?
    var books = Backlinks(\Book.author)
    static let options = ModelOptions<Author>(primaryKey: \.name)
}

struct Book: Model {
    var isbn = 0
    var title = ""
    var pages: Int?
    var price: DecimalValue = .zero
    var rating = 0.0
    var weight: Float = 1
    var isLent = false
    var genre = Genre.novel
    var mood: Mood?
    var code: UInt8 = 7
    var author: Link<Author>?
    var sequels: [Link<Book>] = []
    var tags: Set<String> = []
    var marks: [Int] = []
    var notes: [String: String] = [:]
    var place: Shelf?
    var origin = Shelf()
    var copies: [Shelf] = []
    var cover: [UInt8] = []
    var key = UUIDValue(high: 1, low: 2)
    var extra: Mixed = nil
    var added = Timestamp(microseconds: 0)
    static let options = ModelOptions<Book>(
        primaryKey: \.isbn, indexes: [\.title], fullText: [\.title],
        renamed: [\.pages: "page_count"])

    enum Genre: String, StoredValue { case novel, poetry, science }
    enum Mood: Int, StoredValue { case dark = 1, bright }
}

struct Shelf: EmbeddedModel, Equatable {
    var wing = "hall"
    var number = 0
}

enum Library {
    static let models: [any ObjectModel.Type] = [Book.self, Author.self, Shelf.self]
}
