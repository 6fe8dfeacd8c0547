import ColumnStorage
import Synchronization

/// Something of a store that can be referred to from another thread.
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
    /// Plain values of a collection, filtered, ordered, each once, or cut.
    case values(CollectionValues)
    /// Results.
    case results(Results)

    /// The store, or the frozen version, that it belongs to.
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
}

/// Something of a store on its way to another thread.
///
/// Created on the store's thread by ``Store/reference(to:for:)``. Any thread may hold it, and a store of the same file
/// resolves it, once, on its own thread. Keeps the file open meanwhile. A frozen value stays at its version, which is
/// kept as well. Results keep the present version readable until the reference is resolved or released.
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
        /// Of an earlier version: the copy that shows it, and its number.
        var past: (file: ColumnFile, version: UInt64)?
    }

    /// How to open the file on another thread: without schema and migration.
    package let configuration: StoreConfiguration
    let content: Content
    let frozen: Frozen?
    let file: FileHold
    /// The version that a resolving store must have reached.
    let version: UInt64
    /// The outcome of the write that has created it; nil if it is older than that.
    let outcome: WriteOutcome?
    private let isUsed = Atomic<Bool>(false)
    private let pin: Mutex<Pin?>

    /// Keeps a version readable.
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

    /// Whether it was resolved: it resolves once.
    package var isResolved: Bool { isUsed.load(ordering: .acquiring) }

    /// Whether it refers to an object that an open write has created.
    package var isOfOpenWrite: Bool { outcome?.state == .open }

    /// Marks it as resolved, and lets its version go.
    ///
    /// False if it was already.
    func use() -> Bool {
        guard !isUsed.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        // Released outside the lock.
        _ = pin.withLock { $0.take() }
        return true
    }
}
