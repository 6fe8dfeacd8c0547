import ColumnStorage
import Synchronization

/// A value of a store that can be passed to another thread by reference.
package enum ReferencedValue {
    /// The store itself, or one version of it.
    case store(ObjectSource)
    /// An object.
    case object(LiveObject)
    /// A list property of an object.
    case list(LiveList)
    /// A set property of an object.
    case set(LiveSet)
    /// A map property of an object.
    case map(LiveMap)
    /// A list or map inside a mixed value.
    case nested(NestedCollection)
    /// Plain values of a collection, possibly filtered, sorted, distinct or limited.
    case values(CollectionValues)
    /// The results of a query.
    case results(Results)

    /// The store, or the frozen version, to which the value belongs.
    package var source: ObjectSource {
        switch self {
        case .store(let source): source
        case .object(let object): object.source
        case .list(let list): list.source
        case .set(let set): set.source
        case .map(let map): map.source
        case .nested(let nested): nested.source
        case .values(let values): values.source
        case .results(let results): results.source
        }
    }

    /// The object that the value is, or to which the collection belongs; nil for a store and for results.
    var owner: LiveObject? {
        switch self {
        case .object(let object): object
        case .list(let list): list.header.object
        case .set(let set): set.header.object
        case .map(let map): map.header.object
        case .nested(let nested): nested.root.owner
        case .values(let values): values.owner
        case .store, .results: nil
        }
    }

    /// Returns the same value in another version, such as a frozen one.
    func moved(to source: ObjectSource) -> ReferencedValue {
        switch self {
        case .store: .store(source)
        case .object(let object): .object(source.object(object.classSchema, object.key))
        case .list(let list): .list(LiveList(list.header.moved(to: source)))
        case .set(let set): .set(LiveSet(set.header.moved(to: source)))
        case .map(let map): .map(LiveMap(map.header.moved(to: source)))
        case .nested(let nested): .nested(nested.moved(to: source))
        case .values(let values): .values(values.moved(to: source))
        case .results(let results): .results(results.moved(to: source))
        }
    }

    /// The list or map inside a mixed value to which the value belongs; nil for other values.
    var nested: NestedCollection? {
        switch self {
        case .nested(let nested): return nested
        case .values(let values):
            guard case .nested(let nested) = values.origin else { return nil }
            return nested
        default: return nil
        }
    }
}

/// A reference that passes a value of a store to another thread.
///
/// Created on the store's thread by ``Store/reference(to:for:)``. Any thread may hold it, and a store of the same file
/// resolves it, once, on its own thread. The reference keeps the file open in the meantime. A reference to a frozen
/// value keeps its version readable. A reference to results keeps the current version readable until it is resolved or
/// released.
package final class ThreadSafeReference: Sendable {
    enum Content: Sendable {
        case store
        case object(ObjectReference)
        case list(ObjectReference, ColumnID)
        case set(ObjectReference, ColumnID)
        case map(ObjectReference, ColumnID)
        case nested(NestedAddress)
        case values(ObjectReference, ColumnID, [CollectionValues.Step])
        case nestedValues(NestedAddress, [CollectionValues.Step])
        case results(Query)
    }

    struct Frozen: Sendable {
        let version: SharedVersion
        let schema: Schema
        /// The copy and the number of an earlier version; nil for other versions.
        var past: (file: ColumnFile, version: UInt64)?
    }

    /// The configuration to open the file on another thread, without schema and migration.
    package let configuration: StoreConfiguration
    let content: Content
    let frozen: Frozen?
    let file: FileHold
    /// The version that the resolving store must have reached.
    let version: UInt64
    /// The outcome of the write that created the value; nil if the value is older.
    let outcome: WriteOutcome?
    private let isUsed = Atomic<Bool>(false)
    private let pin: Mutex<Pin?>

    /// A pin that keeps a version readable.
    struct Pin: Sendable {
        let version: SharedVersion
        let entry: VersionRegistry.Pin
    }

    init(
        _ content: Content, of store: Store, version: UInt64, frozen: Frozen?, file: FileHold,
        outcome: WriteOutcome? = nil, pin: Pin? = nil
    ) {
        self.outcome = outcome
        self.pin = Mutex(pin)
        var configuration = store.configuration
        configuration.schema = nil
        configuration.schemaVersion = 0
        configuration.migration = nil
        configuration.deletesIfMigrationNeeded = false
        configuration.holder = VersionHolder()
        self.configuration = configuration
        self.content = content
        self.frozen = frozen
        self.file = file
        self.version = version
    }

    /// Whether the reference was resolved; it can be resolved only once.
    package var isResolved: Bool { isUsed.load(ordering: .acquiring) }

    /// Whether the reference is to an object that an open write has created.
    package var isOfOpenWrite: Bool { outcome?.state == .open }

    /// Marks the reference as resolved, and releases its version.
    ///
    /// Returns false if it was already resolved.
    func use() -> Bool {
        guard !isUsed.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        // The pin is released outside of the lock.
        _ = pin.withLock { $0.take() }
        return true
    }
}
