import ObjectStore

/// W21: objects with small collections, embedded objects and links, in one transaction; and reading them.
///
/// SQLite has a child table for each kind, with the owner and the place as its key.
enum CollectionWorkload {
    /// The content of an object besides its key.
    enum Shape: String, CaseIterable {
        case plain = "two strings"
        case list = "a list of two strings"
        case set = "a set of two strings"
        case map = "a map of two strings"
        case links = "a list of two links"
        case embedded = "an embedded object of two strings"
    }

    static func run(_ bench: Bench) throws {
        let count = bench.options.size / 10
        let names = [Report.swift, Report.sqlite].filter { bench.options.includes(contestant: $0) }
        for shape in Shape.allCases {
            let insert = Row(title: "W21 insert with \(shape.rawValue)", unit: .perSecond)
            let read = Row(title: "W21 read \(shape.rawValue)", unit: .nanoseconds)
            guard bench.options.includes(insert) || bench.options.includes(read) else { continue }
            printError("\(insert.title) ...")
            for _ in 0..<bench.options.repetitions {
                for name in names {
                    let folder = "\(bench.folder)/\(name)-collections"
                    try Files.makeEmpty(folder)
                    let store: any CollectionStore =
                        name == Report.swift
                        ? try MoonpoolCollections(folder, shape)
                        : try SQLiteCollections(folder, shape)
                    let (filling, _) = try timed { try store.fill(count) }
                    let (reading, letters) = try timed { try store.letters() }
                    bench.report.add(
                        insert.unit.value(filling, count: count), answer: [], to: insert, of: name)
                    bench.report.add(
                        read.unit.value(reading, count: count), answer: [Double(letters)],
                        to: read, of: name)
                }
            }
        }
    }

    /// Returns the two strings of an object.
    static func texts(_ index: Int) -> (String, String) {
        ("first \(index % 100)", "second \(index % 1000)")
    }
}

/// The operations of a store with objects of one shape.
protocol CollectionStore {
    /// Adds objects in one transaction.
    func fill(_ count: Int) throws
    /// Reads all strings, or the keys of all links, and returns the sum of their lengths, or of the keys.
    func letters() throws -> Int
}

/// Objects with collections in Moonpool.
final class MoonpoolCollections: CollectionStore {
    private let store: Store
    private let shape: CollectionWorkload.Shape

    init(_ folder: String, _ shape: CollectionWorkload.Shape) throws {
        self.shape = shape
        let content: [Property] =
            switch shape {
            case .plain: [Property("a", .string), Property("b", .string)]
            case .list: [Property("x", .string, collection: .list)]
            case .set: [Property("x", .string, collection: .set)]
            case .map: [Property("x", .string, collection: .map)]
            case .links: [Property("x", .object, collection: .list, target: "Owner")]
            case .embedded: [Property("x", .object, target: "Part")]
            }
        let part = ClassSchema(
            "Part", [Property("a", .string), Property("b", .string)], isEmbedded: true)
        let owner = ClassSchema("Owner", [Property("id", .int, isPrimary: true)] + content)
        store = try Store(
            StoreConfiguration(
                .file("\(folder)/collections.moonpool"), schema: [owner, part],
                durability: .memory), scheduler: BenchmarkScheduler())
    }

    func fill(_ count: Int) throws {
        let owner = try store.schema.require("Owner")
        try store.write {
            var last: [Value] = []
            for index in 0..<count {
                let (a, b) = CollectionWorkload.texts(index)
                let content: [Value] =
                    switch shape {
                    case .plain: [.string(a), .string(b)]
                    case .list, .set: [.list([.string(a), .string(b)])]
                    case .map: [.dictionary(["a": .string(a), "b": .string(b)])]
                    case .links: [.list(last)]
                    case .embedded: [.dictionary(["a": .string(a), "b": .string(b)])]
                    }
                let key = try store.create(owner, positional: [.int(Int64(index))] + content)
                if shape == .links {
                    last = [.object(ObjectReference(table: owner.table, key: key))] + last.prefix(1)
                }
            }
        }
    }

    private func length(_ value: Value) throws -> Int {
        switch value {
        case .string(let text): return text.utf8.count
        case .list(let elements): return try elements.reduce(0) { try $0 + length($1) }
        case .dictionary(let entries): return try entries.values.reduce(0) { try $0 + length($1) }
        case .object(let reference):
            guard let object = store.object(reference) else { return 0 }
            if shape == .links, case .int(let id) = try object.value("id") { return Int(id) }
            return try length(object.value("a")) + length(object.value("b"))
        default: return 0
        }
    }

    func letters() throws -> Int {
        let names = shape == .plain ? ["a", "b"] : ["x"]
        let all = try store.objects("Owner")
        var sum = 0
        for position in 0..<(try all.count()) {
            let object = try all.object(at: position)
            for name in names { sum += try length(object.value(name)) }
        }
        return sum
    }
}

/// Objects with collections in SQLite, with prepared statements.
final class SQLiteCollections: CollectionStore {
    private let database: SQLiteDatabase
    private let shape: CollectionWorkload.Shape

    init(_ folder: String, _ shape: CollectionWorkload.Shape) throws {
        self.shape = shape
        database = try SQLiteDatabase(path: "\(folder)/collections.sqlite", .never)
        if shape == .plain {
            try database.run(
                "CREATE TABLE owner (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT NOT NULL)")
            return
        }
        try database.run("CREATE TABLE owner (id INTEGER PRIMARY KEY)")
        let key =
            switch shape {
            case .set: "owner INTEGER, value TEXT, PRIMARY KEY (owner, value)"
            case .map: "owner INTEGER, name TEXT, value TEXT, PRIMARY KEY (owner, name)"
            case .links: "owner INTEGER, place INTEGER, value INTEGER, PRIMARY KEY (owner, place)"
            case .embedded: "owner INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT NOT NULL"
            default: "owner INTEGER, place INTEGER, value TEXT, PRIMARY KEY (owner, place)"
            }
        try database.run("CREATE TABLE part (\(key)) WITHOUT ROWID")
        // Links are found from both ends in Moonpool.
        if shape == .links { try database.run("CREATE INDEX back ON part (value)") }
    }

    func fill(_ count: Int) throws {
        try database.run("BEGIN IMMEDIATE")
        let owner = try database.prepare(
            shape == .plain ? "INSERT INTO owner VALUES (?, ?, ?)" : "INSERT INTO owner VALUES (?)")
        let part: SQLiteStatement? =
            switch shape {
            case .plain: nil
            case .set: try database.prepare("INSERT INTO part VALUES (?, ?)")
            default: try database.prepare("INSERT INTO part VALUES (?, ?, ?)")
            }
        for index in 0..<count {
            let id = Int64(index)
            let (a, b) = CollectionWorkload.texts(index)
            owner.bind(1, id)
            if shape == .plain {
                try owner.bind(2, a)
                try owner.bind(3, b)
            }
            try owner.run()
            guard let part else { continue }
            switch shape {
            case .embedded:
                part.bind(1, id)
                try part.bind(2, a)
                try part.bind(3, b)
                try part.run()
            case .links:
                for place in 0..<min(2, id) {
                    part.bind(1, id)
                    part.bind(2, place)
                    part.bind(3, id - 1 - place)
                    try part.run()
                }
            default:
                for (place, text) in [a, b].enumerated() {
                    part.bind(1, id)
                    switch shape {
                    case .set: try part.bind(2, text)
                    case .map:
                        try part.bind(2, place == 0 ? "a" : "b")
                        try part.bind(3, text)
                    default:
                        part.bind(2, Int64(place))
                        try part.bind(3, text)
                    }
                    try part.run()
                }
            }
        }
        try database.run("COMMIT")
    }

    func letters() throws -> Int {
        let sum =
            switch shape {
            case .plain: "SELECT sum(length(a) + length(b)) FROM owner"
            case .links: "SELECT sum(value) FROM owner JOIN part ON part.owner = owner.id"
            case .embedded:
                "SELECT sum(length(a) + length(b)) FROM owner JOIN part ON part.owner = owner.id"
            default: "SELECT sum(length(value)) FROM owner JOIN part ON part.owner = owner.id"
            }
        return Int(try database.prepare(sum).integer())
    }
}
