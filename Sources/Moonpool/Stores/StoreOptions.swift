import ObjectStore

/// Where the data of a store is kept.
public enum StoreLocation: Hashable, Sendable {
    /// In a file at a path.
    case file(String)
    /// In memory, shared by name among the stores of this process while one of them is open.
    case memory(String)
}

/// How a store is opened.
///
/// ```swift
/// var options = StoreOptions()
/// options.durability = .async
/// let store = try Store(.file("zoo.moonpool"), models: Dog.self, options: options)
/// ```
public struct StoreOptions: Sendable {
    /// When a commit counts as done.
    public enum Durability: Sendable, CaseIterable {
        /// When it is on the device: it survives a power failure.
        case full
        /// At once. It reaches the device soon after; a power failure may lose the last commits.
        case async
        /// At once, without waiting for the device. A power failure may damage the file.
        case memory
    }

    /// When a commit counts as done.
    public var durability: Durability = .full
    /// Whether writes are refused.
    public var isReadOnly = false
    /// Whether a file whose schema needs a migration is deleted instead: for data that can be fetched again.
    public var deletesIfMigrationNeeded = false
    /// The number of versions that the change history keeps; 0 for none.
    public var history = 100
    /// The largest size of the file in bytes; nil for no limit.
    public var maximumSize: Int?
    /// The number of versions that may be kept readable at once; nil for no limit.
    public var maximumLiveVersions: Int?
    /// Whether reads of live objects inside of `withObservationTracking` and `Observations` register.
    ///
    /// Nil, the default, means true in a store that belongs to the main actor or to another global actor. A read outside of a
    /// tracking scope takes about 15 ns longer in such a store; set false for loops over many objects.
    public var isObservable: Bool?

    /// Creates the default options.
    public init() {}

    /// The engine's configuration for models; without any, the schema is the file's.
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
        let place: StoreConfiguration.Location =
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
        return StoreConfiguration(
            place, schema: schema, schemaVersion: UInt64(max(version, 0)),
            deletesIfMigrationNeeded: deletesIfMigrationNeeded, isReadOnly: isReadOnly,
            durability: mode, history: history, maximumSize: maximumSize,
            maximumLiveVersions: maximumLiveVersions)
    }
}
