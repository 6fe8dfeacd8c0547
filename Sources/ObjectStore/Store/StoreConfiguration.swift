import ColumnStorage
import SystemCalls

/// The options with which a store is opened.
public struct StoreConfiguration: Sendable {
    /// The location of the data.
    public enum Location: Hashable, Sendable {
        /// A file at a path.
        case file(String)
        /// Memory, shared by name among the stores of this process while one of them is open.
        case memory(String)
    }

    /// The point at which a commit counts as done.
    public enum Durability: String, Sendable, CaseIterable {
        /// A commit returns when it is on disk, so it survives a power failure.
        ///
        /// Each commit takes a flush.
        case full
        /// A commit returns immediately: it survives a crash of the process, and is written to disk soon after.
        ///
        /// A power failure may lose the last commits, and leaves the file in the state of the commit before them.
        case async
        /// A commit returns immediately, and never waits for the disk.
        ///
        /// A power failure may damage the file.
        case memory
    }

    /// The location of the data.
    public var location: Location
    /// The classes that the program declares; nil uses those stored in the file.
    public var schema: [ClassSchema]?
    /// The schema version.
    ///
    /// Without `schema`, a version other than 0 must be that of the file, or the newer one of a started migration.
    public var schemaVersion: UInt64
    /// Migrates a file with a lower schema version, in one write transaction, when a store is opened.
    ///
    /// The function is not called for a new file. Without a function, values are converted if the conversion is exact,
    /// and new properties have their default, or are zero, empty or nil.
    public var migration: (@Sendable (Migration) throws -> Void)?
    /// The data that the migration may lose: `Class.property`, or the name of a class.
    ///
    /// Opening throws `migration_needed` if the schema removes a property with values that is neither named here nor
    /// deleted by the migration.
    public var drops: Set<String> = []
    /// Whether all data is deleted if the file needs a migration.
    ///
    /// The store is then created again with the new schema. Use it for data that can be fetched again.
    public var deletesIfMigrationNeeded: Bool
    /// Whether the store refuses changes.
    public var isReadOnly: Bool
    /// The point at which a commit counts as done.
    public var durability: Durability
    /// The number of versions that the change history keeps; 0 for none.
    ///
    /// Every writer of a file applies its own number: a writer with a lower number removes older versions, and the
    /// writes of a writer with 0 cannot be undone. For an in-memory store, the first store that opens it determines the
    /// value.
    public var history: Int
    /// The maximum size of the file in bytes; nil for the default.
    ///
    /// The default is larger than any disk; for a store in memory it is the memory of the machine, at most 64 GiB. The
    /// size only reserves address space. For an in-memory store, the first store that opens it determines the value.
    public var maximumSize: Int?

    /// The maximum number of versions that can be pinned at the same time; nil for any number.
    ///
    /// All versions from the oldest pinned one to the newest count. A write beyond the limit is refused.
    public var maximumLiveVersions: Int?
    /// The number of threads that read more than 200,000 objects together; nil for one for each processor.
    ///
    /// They count, sum, sort and group the objects of queries. Results do not depend on the number. With 1, only the
    /// store's own thread reads.
    public var threads: Int? {
        didSet { scanThreads.count = threads ?? WorkerPool.processors }
    }
    package var scanThreads = ScanThreads(count: WorkerPool.processors)
    /// Runs the functions of a started migration when this store writes; nil for a program that cannot.
    ///
    /// Without it, a write that such a function must convert throws `schema_in_transition`.
    public var conversions: (any StoreConversions)?
    /// The holder that opens the store, named in reports.
    package var holder = VersionHolder()

    /// Creates a configuration with the default settings.
    public init(
        _ location: Location, schema: [ClassSchema]? = nil, schemaVersion: UInt64 = 0,
        migration: (@Sendable (Migration) throws -> Void)? = nil,
        deletesIfMigrationNeeded: Bool = false, isReadOnly: Bool = false,
        durability: Durability = .full, history: Int = 100, maximumSize: Int? = nil,
        maximumLiveVersions: Int? = nil, threads: Int? = nil
    ) {
        self.location = location
        self.schema = schema
        self.schemaVersion = schemaVersion
        self.migration = migration
        self.deletesIfMigrationNeeded = deletesIfMigrationNeeded
        self.isReadOnly = isReadOnly
        self.durability = durability
        self.history = history
        self.maximumSize = maximumSize
        self.maximumLiveVersions = maximumLiveVersions
        self.threads = threads
        scanThreads.count = threads ?? WorkerPool.processors
    }
}

/// The limits of a store that do not depend on its options.
package enum StoreLimits {
    /// The maximum number of properties of a class, backlinks included.
    package static let properties = 16_000
    /// The maximum number of classes of a store.
    package static let classes = 60_000
    /// The maximum length of the name of a class or property, in bytes.
    package static let nameBytes = 200
    /// The maximum size of a string, of data, of a map key and of an encoded mixed value, in bytes.
    ///
    /// A value is read and written as a whole, so larger ones would need several times their size in memory.
    package static let valueBytes = 256 << 20
    /// The maximum depth of nested objects in one value, of embedded objects, and of lists and maps in a mixed value.
    package static let nesting = 100

    /// Throws `limit_exceeded` if no numbers for tables or columns are left.
    ///
    /// These numbers are not reused, so removed classes and properties count.
    static func check(_ classes: [ClassSchema], nextTable: UInt32) throws {
        guard nextTable < TableID.limit - 1 else {
            throw StoreError(
                .limitExceeded,
                "a store has at most \(TableID.limit - 2) classes, removed ones included; "
                    + "copy the objects to a new store")
        }
        for classSchema in classes where classSchema.columnCount >= ColumnID.limit {
            throw StoreError(
                .limitExceeded,
                "'\(classSchema.name)' has \(classSchema.columnCount) properties, removed ones included; "
                    + "the maximum is \(ColumnID.limit - 1); copy its objects to a new class")
        }
    }

    /// Throws `limit_exceeded` for a string or data that is too large; `name` names it.
    static func check(bytes count: Int, _ name: @autoclosure () -> String) throws {
        guard count > valueBytes else { return }
        throw StoreError(
            .limitExceeded,
            "\(name()) has \(count) bytes; the maximum is \(valueBytes)")
    }
}
