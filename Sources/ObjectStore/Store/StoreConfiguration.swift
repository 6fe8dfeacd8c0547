/// How a store is opened.
public struct StoreConfiguration: Sendable {
    /// Where the data lives.
    public enum Location: Hashable, Sendable {
        /// In a file.
        case file(String)
        /// In memory, shared by name among the stores of this process while one of them is open.
        case memory(String)
    }

    /// When a commit counts as done.
    public enum Durability: String, Sendable, CaseIterable {
        /// When it is on disk: it survives a power failure.
        ///
        /// Costs a flush.
        case full
        /// At once; it reaches the disk soon after, and survives a crash of the process at once.
        ///
        /// A power failure may take the last commits, and leaves the file as the one before them has made it.
        case async
        /// At once; the disk is never waited for.
        ///
        /// A power failure may damage the file.
        case memory
    }

    /// Where the data lives.
    public var location: Location
    /// The classes the program expects; nil takes them as stored in the file.
    public var schema: [ClassSchema]?
    /// The version of that schema; meaningful only with one.
    public var schemaVersion: UInt64
    /// Migrates a file with a lower schema version, in one write transaction, when a store is opened.
    ///
    /// Not called for a new file. Without it, values convert where that is exact, and new properties have their
    /// default, or are zero, empty or nil.
    public var migration: (@Sendable (Migration) throws -> Void)?
    /// The data that the migration may lose: `Class.property`, or the name of a class.
    ///
    /// A property that holds values and disappears without being named here, or being deleted by the migration, is
    /// `migration_needed`.
    public var drops: Set<String> = []
    /// Whether a file that would need a migration is emptied instead, and starts again with the wanted schema.
    ///
    /// For data that can be fetched again.
    public var deletesIfMigrationNeeded: Bool
    /// Whether changes are refused.
    public var isReadOnly: Bool
    /// When a commit counts as done.
    public var durability: Durability
    /// How many versions the change history keeps; 0 for none.
    ///
    /// Every writer of a file keeps as many as it was opened with: one that keeps fewer removes older ones, and what one
    /// with 0 writes cannot be undone. Of a store in memory the first to open it decides.
    public var history: Int
    /// The largest size of the file in bytes; nil for one that no disk of today reaches, and in memory for what the machine
    /// has, 64 GiB at most.
    ///
    /// Address space only. Of a store in memory the first to open it decides.
    public var maximumSize: Int?

    /// How many versions may be kept alive at once; nil for any number.
    ///
    /// Counted from the oldest version that is read to the newest. A write beyond it is refused.
    public var maximumLiveVersions: Int?
    /// The holder that opens the store, for reports.
    package var holder = VersionHolder()

    /// Makes a configuration with the usual settings.
    public init(
        _ location: Location, schema: [ClassSchema]? = nil, schemaVersion: UInt64 = 0,
        migration: (@Sendable (Migration) throws -> Void)? = nil,
        deletesIfMigrationNeeded: Bool = false, isReadOnly: Bool = false,
        durability: Durability = .full, history: Int = 100, maximumSize: Int? = nil,
        maximumLiveVersions: Int? = nil
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
    }
}
