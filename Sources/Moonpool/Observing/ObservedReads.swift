import ColumnStorage
import ObjectStore
import Observation
import Synchronization

/// Registers the reads of one store with `withObservationTracking` and `Observations`.
///
/// All reads share one registrar; a key path with a number represents each of them.
final class ObservedReads: Observable {
    private let registrar = ObservationRegistrar()
    private let probe = TrackingProbe()
    private let probePath: KeyPath<ObservedReads, Int>
    private var lastNumber = 0

    init() { probePath = \ObservedReads[probe] }

    /// Whether the calling code is inside a tracking scope.
    ///
    /// The language provides no function for this. A scope stores the key paths of its reads in a set, which hashes
    /// them; outside of a scope, the key path is not hashed. Takes about 15 ns.
    var isTracking: Bool {
        probe.reset()
        registrar.access(self, keyPath: probePath)
        return probe.wasHashed
    }

    /// Creates the subscriber of a new read.
    func makeRead() -> ObservedRead {
        lastNumber += 1
        return ObservedRead(self, path: \ObservedReads[lastNumber])
    }

    fileprivate func access(_ path: KeyPath<ObservedReads, Int>) {
        registrar.access(self, keyPath: path)
    }

    fileprivate func change(_ path: KeyPath<ObservedReads, Int>) {
        registrar.willSet(self, keyPath: path)
        registrar.didSet(self, keyPath: path)
    }

    // The target of the key paths, which is never read.
    private subscript(probe: TrackingProbe) -> Int { 0 }
    private subscript(number: Int) -> Int { number }
}

/// A read that tracking scopes wait for.
final class ObservedRead: ReadSubscriber {
    // The subscriptions of the store reference this object, and the store's context references both.
    private unowned let reads: ObservedReads
    private var path: KeyPath<ObservedReads, Int>

    init(_ reads: ObservedReads, path: KeyPath<ObservedReads, Int>) {
        self.reads = reads
        self.path = path
    }

    func didRead() { reads.access(path) }
    func didChange() { reads.change(path) }
    /// The registrar keeps the key path while a scope waits for it.
    var isWaiting: Bool { !isKnownUniquelyReferenced(&path) }
}

/// A value that records whether it was hashed.
private final class TrackingProbe: Hashable, Sendable {
    // Atomic, because a scope that ends on another thread also hashes the key path.
    private let flag = Atomic(false)

    var wasHashed: Bool { flag.load(ordering: .relaxed) }

    func reset() { flag.store(false, ordering: .relaxed) }

    func hash(into hasher: inout Hasher) {
        flag.store(true, ordering: .relaxed)
        hasher.combine(ObjectIdentifier(self))
    }

    static func == (left: TrackingProbe, right: TrackingProbe) -> Bool { left === right }
}

extension ModelContext {
    /// Registers reads with `withObservationTracking` and `Observations` from now on.
    func observeReads(of engine: ObjectStore.Store) {
        let reads = ObservedReads()
        let scope = ReadScope()
        scope.subscriptions = ReadSubscriptions(isWanted: { reads.isTracking }) { reads.makeRead() }
        engine.readScope = scope
        registerReads()
    }
}

extension ModelTable {
    /// Registers a read of a property on the fast path, which does not use the engine.
    ///
    /// Releases no object that a caller references: the registrar runs no code of the program when it registers a read.
    @usableFromInline @inline(never) @_effects(releasenone)
    func recordRead(of key: ObjectKey, at offset: Int) {
        // A property without a column is a collection, whose reads the engine registers.
        guard columns.indices.contains(offset), columns[offset] != .unassigned else { return }
        context.source.recordRead(classSchema, key, columns[offset])
    }

    /// Registers a read of all properties of an object.
    func recordRead(of key: ObjectKey) {
        if isObservable { context.source.recordRead(classSchema, key, nil) }
    }
}

extension Live: Observable {}
extension Results: Observable {}
extension Sections: Observable {}
extension BacklinkResults: Observable {}
extension LiveList: Observable {}
extension LiveSet: Observable {}
extension LiveMap: Observable {}
extension LiveProjection: Observable {}
extension ProjectedResults: Observable {}
