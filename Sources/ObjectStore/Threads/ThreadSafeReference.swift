import ColumnStorage
import Synchronization

/// A value of a store that can be passed to another thread by reference.
package enum ReferencedValue {
    /// The store itself, or one version of it.
    case store(ObjectSource)
    /// An object.
    case object(LiveObject)
    /// A list, a set or a map of an object.
    case collection(any LiveCollection)
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
        case .collection(let collection): collection.source
        case .nested(let nested): nested.source
        case .values(let values): values.source
        case .results(let results): results.source
        }
    }

    /// The object that the value is, or to which the collection belongs; nil for a store and for results.
    var owner: LiveObject? {
        switch self {
        case .object(let object): object
        case .collection(let collection): collection.header.object
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
        case .collection(let collection):
            .collection(collection.header.moved(to: source).collection)
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
    /// The ``ReferencedValue`` without its store.
    enum Content: Sendable {
        case store
        case object(ObjectReference)
        case collection(ObjectReference, ColumnID)
        case nested(NestedAddress)
        /// The values of a collection, or of one inside a mixed value.
        indirect case values(Content, [CollectionValues.Step])
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

extension Store {
    /// Returns a reference with which another thread can access an object or another value of this store.
    ///
    /// References to objects of the open write can be resolved once it is committed, and are nil if it is rolled back.
    ///
    /// Creating a reference is cheap, except that references to results and frozen values read the file's tables.
    /// Results keep the current version readable until the reference is resolved or released; ``pins()`` names the
    /// holder.
    ///
    /// Throws `invalid_object` for a deleted object or a removed collection, `already_in_write` for results over a collection that the open
    /// write has created, `invalid_argument` for a value of another store, `closed`, `wrong_thread`.
    package func reference(
        to value: ReferencedValue, for holder: VersionHolder = VersionHolder()
    ) throws -> ThreadSafeReference {
        try check()
        if let nested = value.nested, nested.isRemoved { throw nested.removedError() }
        let view = try value.source.openView()
        let file = try StoreError.wrapping(self.view.snapshot.file.hold())
        let isPast = view.originalVersion != nil && pastViews[view.version] === view
        guard view.snapshot.file.identity == file.identity || isPast else {
            throw StoreError(.invalidArgument, "this value belongs to another store")
        }
        var outcome: WriteOutcome?
        var owner = value.owner?.reference
        if case .results(let results) = value { owner = results.query.owner(in: view.schema) }
        if let owner {
            let name = view.schema.find(table: owner.table)?.name ?? "object"
            guard try view.isPresent(owner) else {
                throw StoreError.deleted(name)
            }
            if isInWrite, !view.isFrozen, try !frozenView().isPresent(owner) {
                switch value {
                case .results, .values:
                    throw StoreError(
                        .alreadyInWrite,
                        "the '\(name)' of these results was created in the open write transaction; other "
                            + "threads can receive them after the commit")
                default: break
                }
                outcome = outcomeOfWrite()
            }
        }
        let frozen =
            try view.isFrozen
            ? StoreError.wrapping { () throws(StorageError) in
                ThreadSafeReference.Frozen(
                    version: try view.snapshot.shared(), schema: view.schema,
                    past: isPast ? (view.snapshot.file, view.version) : nil)
            } : nil
        return ThreadSafeReference(
            Self.content(of: value), of: self, version: view.version, frozen: frozen, file: file,
            outcome: outcome, pin: try pin(for: value, holder))
    }

    /// Pins the version of live results.
    private func pin(
        for value: ReferencedValue, _ holder: VersionHolder
    ) throws -> ThreadSafeReference.Pin? {
        guard case .results(let results) = value, case .store = results.source else { return nil }
        let version = try StoreError.wrapping(view.snapshot.frozen().shared())
        return ThreadSafeReference.Pin(
            version: version,
            entry: coordinator.pins.add(.reference, holder, version: version.version))
    }

    /// Resolves a reference to a value of this store; nil if it was deleted in the meantime, or belongs to another
    /// file.
    ///
    /// A store that has not reached the version of the reference refreshes first, so that it sees all commits before
    /// the reference was created. Throws `invalid_argument` for a reference that was already resolved, and inside an
    /// observer for a reference to a newer version, because the store cannot refresh there. Throws `already_in_write`
    /// for an object that another store has created in a write which is still open. In the last two cases the reference
    /// can be resolved later. Throws `closed`, `wrong_thread`.
    package func resolve(
        _ reference: ThreadSafeReference, for holder: VersionHolder = VersionHolder()
    ) throws -> ReferencedValue? {
        try check()
        guard reference.file.identity == view.snapshot.file.identity else { return nil }
        var needed = reference.version
        if let state = reference.outcome?.state, !reference.isResolved,
            reference.outcome !== outcome
        {
            switch state {
            case .open:
                throw StoreError(
                    .alreadyInWrite,
                    "the object of this reference was created in an open write transaction; resolve "
                        + "it after the commit")
            case .committed(let version): needed = version
            case .rolledBack: needed = 0
            }
        }
        if reference.frozen == nil, needed > version, notifications.isDelivering,
            !reference.isResolved
        {
            throw StoreError(
                .invalidArgument,
                "this reference is newer than the version that the observer sees; resolve it after "
                    + "the observer returns")
        }
        guard reference.use() else {
            throw StoreError(
                .invalidArgument,
                "this reference was already resolved; create one for each thread and each use")
        }
        // After the rollback, another object may have the key.
        if reference.outcome?.state == .rolledBack { return nil }
        if let frozen = reference.frozen {
            return try value(reference.content, in: .frozen(thawed(frozen, holder)))
        }
        if needed > version { try refresh() }
        return try value(reference.content, in: .store(self))
    }

    /// Returns the view of a frozen version for this thread; all values of one version share the view while it is held.
    private func thawed(
        _ frozen: ThreadSafeReference.Frozen, _ holder: VersionHolder
    ) throws -> StoreView {
        if let past = frozen.past { return try thawed(frozen, past.file, past.version) }
        if let latestFrozen, latestFrozen.version == frozen.version.version,
            !latestFrozen.isClosed
        {
            return latestFrozen
        }
        guard let snapshot = frozen.version.snapshot(of: view.snapshot.file) else {
            throw StoreError(.invalidArgument, "this version belongs to another file")
        }
        let pin = coordinator.pins.add(.frozen, holder, version: snapshot.version)
        let created = StoreView(schema: frozen.schema, snapshot: snapshot, isFrozen: true, pin: pin)
        latestFrozen = created
        return created
    }

    /// Returns the view of an earlier version, whose data is in a copy.
    private func thawed(
        _ frozen: ThreadSafeReference.Frozen, _ copy: ColumnFile, _ version: UInt64
    ) throws -> StoreView {
        if let known = pastViews[version] { return known }
        guard let snapshot = frozen.version.snapshot(of: copy) else {
            throw StoreError(.invalidArgument, "this version belongs to another file")
        }
        let created = StoreView(
            schema: frozen.schema, snapshot: snapshot, isFrozen: true, originalVersion: version)
        pastViews[version] = created
        return created
    }

    private func value(
        _ content: ThreadSafeReference.Content, in source: ObjectSource
    ) throws -> ReferencedValue? {
        let view = source.view
        func header(_ owner: ObjectReference, _ column: ColumnID) throws -> CollectionHeader? {
            guard try view.isPresent(owner), let object = source.object(owner),
                let property = object.classSchema.property(in: column)
            else { return nil }
            return object.header(of: property)
        }
        switch content {
        case .store: return .store(source)
        case .object(let reference):
            guard try view.isPresent(reference) else { return nil }
            return source.object(reference).map(ReferencedValue.object)
        case .collection(let owner, let column):
            return try header(owner, column).map { .collection($0.collection) }
        case .nested(let address):
            guard let header = try header(address.owner, address.column),
                let found = NestedCollection(
                    at: address.path, of: header.property, in: header.object, kind: address.kind)
            else { return nil }
            return found.isValid ? .nested(found) : nil
        case .values(let collection, let steps):
            switch try value(collection, in: source) {
            case .collection(let found): return .values(CollectionValues(.property(found), steps))
            case .nested(let found): return .values(CollectionValues(.nested(found), steps))
            default: return nil
            }
        case .results(let query):
            // Results over a collection whose owner was deleted are empty, as in the original store.
            let results = Results(source, query)
            // because: a removed class has no results.
            return (try? results.classSchema()).map { _ in .results(results) }
        }
    }

    private static func content(of value: ReferencedValue) -> ThreadSafeReference.Content {
        switch value {
        case .store: .store
        case .object(let object): .object(object.reference)
        case .collection(let collection):
            .collection(collection.header.object.reference, collection.property.column)
        case .nested(let nested): .nested(nested.address)
        case .values(let values):
            switch values.origin {
            case .property(let collection):
                .values(content(of: .collection(collection)), values.steps)
            case .nested(let nested): .values(content(of: .nested(nested)), values.steps)
            }
        case .results(let results): .results(results.query)
        }
    }
}

/// The outcome of a write transaction, for references to objects that it has created.
final class WriteOutcome: Sendable {
    enum State: Hashable {
        case open
        /// Committed: stores at this version or a later one show the created objects.
        case committed(version: UInt64)
        case rolledBack
    }

    private static let rolledBack = UInt64.max
    /// The version; 0 while the write is open.
    private let version = Atomic<UInt64>(0)

    var state: State {
        switch version.load(ordering: .acquiring) {
        case 0: .open
        case Self.rolledBack: .rolledBack
        case let version: .committed(version: version)
        }
    }

    func didCommit(as version: UInt64) {
        assert(state == .open, "a write has one outcome")
        self.version.store(version, ordering: .releasing)
    }

    func didRollBack() {
        assert(state == .open, "a write has one outcome")
        version.store(Self.rolledBack, ordering: .releasing)
    }
}
