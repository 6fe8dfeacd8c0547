import ColumnStorage
import Logging
import ObjectStore

/// The location of a store's data.
public enum StoreLocation: Hashable, Sendable {
    /// In a file at a path.
    case file(String)
    /// In memory, shared by name among the stores of this process while one of them is open.
    case memory(String)
}

/// The options for opening a store.
///
/// ```swift
/// let store = try Store(
///     .file("zoo.moonpool"), models: Dog.self, options: StoreOptions(isReadOnly: true))
/// ```
public struct StoreOptions: Sendable {
    /// The durability of commits.
    public enum Durability: Sendable, CaseIterable {
        /// The commit returns when it is on the device, and survives a power failure.
        case full
        /// The commit returns immediately and reaches the device soon afterward; a power failure can lose the last
        /// commits.
        case async
        /// The commit returns immediately and never waits for the device. A power failure can damage the file.
        case memory
    }

    /// The durability of commits.
    public var durability: Durability
    /// Whether writes are refused.
    public var isReadOnly: Bool
    /// Whether to delete a file whose schema requires a migration, for data that can be downloaded again.
    public var deletesIfMigrationNeeded: Bool
    /// The number of versions that the change history keeps; 0 for none.
    public var history: Int
    /// The maximum size of the file in bytes; nil for no limit.
    public var maximumSize: Int?
    /// The maximum number of versions that are readable at the same time; nil for no limit.
    public var maximumLiveVersions: Int?
    /// The number of threads that read more than 200,000 objects together; nil for one for each processor.
    ///
    /// They count, sum, sort and group the objects of queries. Results do not depend on the number. With 1, only the
    /// calling thread reads.
    public var threads: Int?
    /// Whether reads of live objects inside `withObservationTracking` and `Observations` register.
    ///
    /// Nil, the default, means true in a store that belongs to the main actor or to another global actor. In such a
    /// store, a read outside of a tracking scope takes about 15 ns longer; set this to false for loops over many
    /// objects.
    public var isObservable: Bool?
    /// Runs the Lua functions of a started migration when this store writes, such as `LuaConversions()` of the product
    /// MoonpoolScripting; nil for none.
    ///
    /// Without it, a write that such a function must convert throws `schema_in_transition` while programs of both schema
    /// versions use the file.
    public var conversions: (any StoreConversions)?

    /// Creates options; those that are not given have their defaults.
    public init(
        durability: Durability = .full, isReadOnly: Bool = false,
        deletesIfMigrationNeeded: Bool = false, history: Int = 100, maximumSize: Int? = nil,
        maximumLiveVersions: Int? = nil, threads: Int? = nil, isObservable: Bool? = nil
    ) {
        self.durability = durability
        self.isReadOnly = isReadOnly
        self.deletesIfMigrationNeeded = deletesIfMigrationNeeded
        self.history = history
        self.maximumSize = maximumSize
        self.maximumLiveVersions = maximumLiveVersions
        self.threads = threads
        self.isObservable = isObservable
    }

    /// Returns the engine's configuration for models; without models, the schema is that of the file.
    package func configuration(
        _ location: StoreLocation, models: [any ObjectModel.Type], version: Int
    ) throws -> StoreConfiguration {
        guard !models.isEmpty else { return configuration(location, schema: nil, version: version) }
        let descriptions = try models.map { try ModelRegistry.erasedDescription(of: $0) }
        return configuration(
            location, schema: try ModelSchema.classes(descriptions), version: version)
    }

    func configuration(
        _ location: StoreLocation, schema: [ClassSchema]?, version: Int
    ) -> StoreConfiguration {
        let location: StoreConfiguration.Location =
            switch location {
            case .file(let path): .file(path)
            case .memory(let name): .memory(name)
            }
        let mode: StoreConfiguration.Durability =
            switch durability {
            case .full: .full
            case .async: .async
            case .memory: .memory
            }
        var configuration = StoreConfiguration(
            location, schema: schema, schemaVersion: UInt64(max(version, 0)),
            deletesIfMigrationNeeded: deletesIfMigrationNeeded, isReadOnly: isReadOnly,
            durability: mode, history: history, maximumSize: maximumSize,
            maximumLiveVersions: maximumLiveVersions, threads: threads)
        configuration.conversions = conversions
        return configuration
    }
}

/// The warnings of stores, which the program's `LoggingSystem` receives with the label `moonpool`.
enum StoreLog {
    private static let logger = Logger(label: "moonpool")

    /// Returns the name of a store as a writer, with a handler that logs its long waits.
    static func writer(of location: StoreLocation, for actor: (any Actor)?) -> LockUser {
        let name =
            switch location {
            case .file(let path): path
            case .memory(let name): "the in-memory store '\(name)'"
            }
        let owner = actor.map { "a store of \(type(of: $0))" } ?? "a store of a task"
        return LockUser(owner) { holder in
            logger.warning("a write of \(name) waits for \(holder)")
        }
    }
}
