import Glibc
import NATSReplication
import ObjectStore
import Replication
import TestThreads
import Testing
import Transfer

/// A folder with stores that are written, published and followed.
final class ReplicationWorld {
    private let temporary: TemporaryFolder
    var folder: String { temporary.path }

    init() throws { temporary = try TemporaryFolder() }

    func path(_ name: String) -> String { "\(folder)/\(name).moonpool" }

    func open(
        _ name: String, _ classes: [ClassSchema]? = nil,
        scheduler: any Scheduler = ReplicationThread()
    ) throws -> Store {
        try Store(StoreConfiguration(.file(path(name)), schema: classes), scheduler: scheduler)
    }

    /// The export of a store, as text.
    func export(_ name: String) throws -> String {
        let store = try open(name)
        defer { store.close() }
        return try Self.export(store, "\(folder)/\(name).jsonl")
    }

    static func export(_ store: Store, _ file: String) throws -> String {
        _ = try Exporter(.store(store), as: .jsonLines).write(to: file)
        return String(decoding: try bytes(file), as: UTF8.self)
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }

    func expectEqual(
        _ copy: Store, _ source: Store, at location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(
            try Self.export(copy, folder + "/b") == Self.export(source, folder + "/a"),
            sourceLocation: location)
    }

    /// Makes a commit of the lines of another store.
    static func apply(_ parts: [[UInt8]], to store: Store) throws {
        try store.write {
            let reader = ReplicationReader(store)
            for part in parts { try reader.take(part) }
            try reader.finish()
        }
    }

    /// Writes a text to a file.
    static func write(_ text: String, to file: String) throws {
        let output = try #require(fopen(file, "w"))
        let bytes = Array(text.utf8)
        #expect(fwrite(bytes, 1, bytes.count, output) == bytes.count)
        fclose(output)
    }

    /// Publishes new commits.
    func publish(
        _ name: String, _ server: String, stream: String = "zoo",
        _ change: (inout Publisher.Options) -> Void = { _ in }
    ) throws {
        var options = Publisher.Options()
        options.stopsAtEnd = true
        options.failsFast = true
        change(&options)
        try Publisher(path(name), NatsOptions(server), stream: stream, options: options).run()
    }

    /// Follows up to the last message.
    @discardableResult
    func follow(
        _ name: String, _ server: String, _ change: (inout Follower.Options) -> Void = { _ in }
    ) throws -> ReplicationStatus.Snapshot {
        var options = Follower.Options()
        options.stopsAtEnd = true
        options.failsFast = true
        change(&options)
        let follower = try Follower(
            path(name), NatsOptions(server), stream: "zoo", options: options)
        defer { follower.close() }
        try follower.run()
        return follower.status.snapshot
    }

    static func schema(_ classes: [String: [String: String]]) throws -> [ClassSchema] {
        try classes.sorted { $0.key < $1.key }.map { name, properties in
            ClassSchema(
                name,
                try properties.sorted { $0.key < $1.key }.compactMap {
                    $0.key == "embedded"
                        ? nil : try PropertySyntax.parse(name: $0.key, in: name, $0.value)
                }, isEmbedded: properties["embedded"] != nil)
        }
    }
}

/// Returns the message of an error, or "nothing was wrong".
func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing was wrong"
    } catch let error as StoreError {
        return error.message
    } catch {
        return "\(error)"
    }
}

/// Writes random commits to a store.
struct RandomCommits {
    static let schema: [String: [String: String]] = [
        "Person": ["name": "string primary", "age": "int?", "chip": "Chip", "boss": "Person"],
        "Dog": [
            "name": "string", "weight": "double", "owner": "Person", "friends": "Dog[]",
            "tags": "string<>",
            "any": "mixed", "by_name": "Dog{}", "chips": "Chip[]", "born": "date?", "data": "data?",
            "counts": "int{}", "by_code": "Chip{}", "price": "decimal?",
        ],
        "Chip": ["embedded": "", "code": "string", "weight": "double", "marks": "int{}"],
    ]

    private var random: SeededGenerator
    private var people = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func pick(_ name: String, _ store: Store) throws -> LiveObject? {
        let all = try store.objects(name)
        let count = try all.count()
        return count == 0 ? nil : try all.object(at: Int.random(in: 0..<count, using: &random))
    }

    private mutating func link(_ name: String, _ store: Store) throws -> Value {
        try pick(name, store).map { .object($0.reference) } ?? .null
    }

    /// Some entries of a map.
    private mutating func entries(_ value: Value) -> ValueMap {
        ValueMap(
            ["x", "y", "z"].filter { _ in Bool.random(using: &random) }.map {
                (key: $0, value: value)
            }
        )
    }

    /// One commit of up to a dozen changes.
    mutating func commit(_ store: Store) throws {
        try store.beginWrite()
        for _ in 0..<Int.random(in: 1...12, using: &random) { try change(store) }
        if Int.random(in: 0..<8, using: &random) == 0 {
            try store.cancelWrite()
        } else {
            try store.commitWrite()
        }
    }

    private mutating func change(_ store: Store) throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            people += 1
            try store.create(
                "Person",
                .dictionary([
                    "name": .string(
                        "p\(people)-\(UInt16.random(in: 0...UInt16.max, using: &random))"),
                    "age": .int(Int64(people)), "boss": try link("Person", store),
                    "chip": .dictionary(["code": .string("c\(people)"), "weight": .double(1.5)]),
                ]))
        case 2, 3, 4:
            let friends = try (0..<Int.random(in: 0..<4, using: &random)).compactMap { _ in
                try pick("Dog", store).map { Value.object($0.reference) }
            }
            try store.create(
                "Dog",
                .dictionary([
                    "name": .string("dog"),
                    "weight": .double(Double.random(in: -1e10...1e10, using: &random)),
                    "owner": try link("Person", store), "friends": .list(friends),
                    "tags": .list([
                        .string("a"), .string("b\(Int.random(in: 0..<5, using: &random))"),
                    ]),
                    "any": .list([.int(1), try link("Dog", store), .double(-0.0)]),
                    "by_name": .dictionary(["x": try link("Dog", store)]),
                    "chips": .list([.dictionary(["code": .string("x"), "weight": .double(.nan)])]),
                    "born": .date(
                        Timestamp(microseconds: Int64.random(in: 0...1 << 50, using: &random))),
                    "data": .data(
                        [UInt8](repeating: 7, count: Int.random(in: 0..<3000, using: &random))),
                ]))
        case 5:
            if let dog = try pick("Dog", store) {
                try dog.set("weight", .double(Double.random(in: 0...1, using: &random)))
                try dog.set("owner", try link("Person", store))
                try dog.set("by_name", .dictionary(entries(try link("Dog", store))))
                try dog.set("counts", .dictionary(entries(.int(1))))
                let chip: ValueMap = [
                    "code": .string("y"), "weight": .double(2),
                    "marks": .dictionary(entries(.int(2))),
                ]
                try dog.set("by_code", .dictionary(entries(.dictionary(chip))))
                try dog.set("chips", .list([.dictionary(chip)]))
            }
        case 6:
            if let dog = try pick("Dog", store) {
                try dog.set(
                    "any", .dictionary(["link": try link("Person", store), "$date": .int(1)]))
                try dog.set("friends", .list([try link("Dog", store)].filter { $0 != .null }))
                // Equal values in several forms.
                try dog.set("weight", .double([0.0, -0.0].randomElement(using: &random) ?? 0))
                let price = ["1.5", "1.50"].randomElement(using: &random) ?? ""
                try dog.set("price", .decimal(try #require(DecimalValue(price))))
            }
        case 7:
            if let person = try pick("Person", store) {
                try person.set("chip", .dictionary(["code": .string("new"), "weight": .double(0)]))
            }
        case 8: if let dog = try pick("Dog", store) { try store.delete(dog) }
        default: if let person = try pick("Person", store) { try store.delete(person) }
        }
    }
}
