import ObjectStore
import Testing

/// A file that is repeatedly opened with other schemas.
struct MigrationWorld {
    let folder = TemporaryFolder()
    var path: String { folder.file("world.moonpool") }
    var durability = StoreConfiguration.Durability.memory

    func open(
        _ classes: [ClassSchema]?, version: UInt64 = 0, deletes: Bool = false,
        drops: Set<String> = ["Person.first", "Person.last"],
        scheduler: ManualScheduler = ManualScheduler(),
        migration: ((Migration) throws -> Void)? = nil
    ) throws -> Store {
        var configuration = StoreConfiguration(
            .file(path), schema: classes, schemaVersion: version, deletesIfMigrationNeeded: deletes)
        configuration.durability = durability
        configuration.drops = drops
        return try Store(configuration, scheduler: scheduler, migration: migration)
    }

    /// Creates the file with objects of one class, from values in schema order.
    func fill(_ classes: [ClassSchema], _ rows: [(String, [Value])], version: UInt64 = 0) throws {
        let store = try open(classes, version: version)
        try store.write { for (name, values) in rows { try store.create(name, .list(values)) } }
        store.close()
    }

    /// The values of a property of all objects, in the order of their creation.
    static func values(_ store: Store, _ className: String, _ property: String) throws -> [Value] {
        let results = try store.objects(className)
        return try (0..<results.count()).map { try results.object(at: $0).value(property) }
    }
}

extension Store {
    /// Starts a migration whose number is the new version.
    func startMigration(
        to classes: [ClassSchema], _ version: UInt64, renaming renames: [String: String] = [:],
        dropping: Set<String>
    ) throws {
        let transaction = try beginMigration()
        defer { transaction.end() }
        try transaction.start(
            to: classes, version: version, renaming: renames, dropping: dropping,
            number: Int(version), name: "names", checksum: "x")
    }

    func completeMigration(isForced: Bool = false) throws {
        let transaction = try beginMigration()
        defer { transaction.end() }
        try transaction.complete(recording: transaction.log, isForced: isForced)
    }

    func abortMigration(isForced: Bool = false) throws -> [AbandonedData] {
        let transaction = try beginMigration()
        defer { transaction.end() }
        return try transaction.abort(isForced: isForced)
    }

    /// Returns the schema version of a file.
    static func schemaVersion(atPath path: String) throws -> UInt64 {
        let store = try Store(
            StoreConfiguration(.file(path), isReadOnly: true), scheduler: ManualScheduler())
        defer { store.close() }
        return store.schema.version
    }
}

let personBefore = ClassSchema("Person", "id: int primary, first: string, last: string")

let personAfter = ClassSchema("Person", "id: int primary, name: string")

let people: [(String, [Value])] = [
    ("Person", [.int(1), .string("Ann"), .string("Lee")]),
    ("Person", [.int(2), .string("Bob"), .string("Ray")]),
    ("Person", [.int(3), .string("Cid"), .string("Poe")]),
]

struct TestFailure: Error, Equatable {}
