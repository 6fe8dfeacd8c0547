import ColumnStorage
import ObjectStore
import Synchronization

#if ServiceLifecycle
    public import ServiceLifecycle
#endif

/// A file for the request handlers of a server: Sendable, and usable from any task.
///
/// A pool keeps stores open, because opening one for each request takes half a millisecond. Reads run side by side and
/// never wait for writers; each has a store of its own at the newest version. Writes run in the order of the calls.
///
/// ```swift
/// let pool = try StorePool(.file("zoo.moonpool"), models: Dog.self, Person.self)
/// let count = try await pool.read { store in store.all(Dog.self).count }
/// try await pool.write { tx in try tx.insert(Dog(name: "Rex")) }
/// for try await change in pool.changes(of: Dog.self, where: { $0.age > 3 }) { print(change.rows) }
/// ```
///
/// Live objects and results stay in the closure; its result is a Sendable value, such as a plain or frozen object. The
/// stores close when the pool is released, or in ``close()``.
public final class StorePool: Sendable {
    private struct Readers {
        var members: [(member: PoolMember, load: Int)] = []
        var isClosed = false
    }

    private let source: PoolSource
    private let limit: Int
    private let readers = Mutex(Readers())
    private let writer: PoolMember
    private let observer: PoolMember

    /// Opens the file, and migrates it if its schema version is lower.
    ///
    /// - Parameters:
    ///   - location: The file, or a name in memory.
    ///   - models: The models of the store, with every model that they link to.
    ///   - version: The version of the schema.
    ///   - options: Durability and limits.
    ///   - readers: The number of reads that can run at the same time.
    ///   - migration: Adapts the data to the new schema, in one transaction.
    /// - Throws: The errors of ``Store/init(_:models:version:options:on:migration:)``.
    public init(
        _ location: StoreLocation, models: any ObjectModel.Type..., version: Int = 0,
        options: StoreOptions = StoreOptions(), readers: Int = 4,
        migration: (@Sendable (Migration) throws -> Void)? = nil
    ) throws {
        source = PoolSource(
            location: location, models: models, version: version, options: options)
        limit = max(readers, 1)
        // The schema is created or migrated now, and an in-memory store exists from now on.
        writer = PoolMember(
            source,
            try Store(
                location, listing: models, version: version, options: options, on: nil,
                migration: migration))
        observer = PoolMember(source)
    }

    deinit { close() }

    // MARK: Requests

    /// Calls `body` with a store at the newest version, and returns its result.
    ///
    /// The store is valid in the closure only. Throws `closed`, and the errors of opening a store and of `body`.
    public func read<R: Sendable>(
        _ body: @Sendable (Store) throws -> R
    ) async throws -> R {
        let (index, member) = try take()
        defer {
            readers.withLock { readers in
                assert(readers.members[index].load > 0, "a read ends once")
                readers.members[index].load -= 1
            }
        }
        return try await member.read(body)
    }

    /// Runs `body` in a write transaction, commits when it returns, and returns its result.
    ///
    /// Waits for other writers without blocking a thread. An error of `body` rolls back the write. Throws the errors of
    /// `Store.write`.
    @discardableResult  // because most writes have no result
    public func write<R: Sendable>(
        _ body: @Sendable (Transaction) throws -> R
    ) async throws -> R {
        try await writer.write(body)
    }

    /// Runs `body` in a write transaction, commits when it returns, and returns the identity of its object.
    ///
    /// It otherwise equals the function for Sendable results.
    @discardableResult  // because many objects are found again by a query
    public func write<M: Model>(
        _ body: @Sendable (Transaction) throws -> Live<M>
    ) async throws -> ObjectID<M> {
        try await writer.write { try body($0).objectID }
    }

    /// Returns the least busy reader, and adds one if all are busy.
    private func take() throws -> (Int, PoolMember) {
        try readers.withLock { readers in
            guard !readers.isClosed else { throw StoreError(.closed, "the pool was closed") }
            let minimum = readers.members.indices.min {
                readers.members[$0].load < readers.members[$1].load
            }
            if let minimum, readers.members[minimum].load == 0 || readers.members.count == limit {
                readers.members[minimum].load += 1
                return (minimum, readers.members[minimum].member)
            }
            readers.members.append((PoolMember(source), 1))
            return (readers.members.count - 1, readers.members[readers.members.count - 1].member)
        }
    }

    // MARK: Changes

    /// Returns the changes of the objects of a model; the first one contains all rows.
    ///
    /// `paths` are the properties whose changes count as modifications, as for ``ChangeReporting/changes(_:)``.
    public func changes<M: Model>(
        of type: M.Type, _ paths: FieldPath<M>...
    ) -> PoolChanges<M> {
        changes(paths.map { FieldPaths.text($0) }) { $0.all(M.self) }
    }

    /// Returns the changes of the objects of a model that match a condition; the first one contains all rows.
    public func changes<M: Model, C: QueryCondition>(
        of type: M.Type, _ paths: FieldPath<M>...,
        where condition: @escaping @Sendable (Fields<M>) -> C
    ) -> PoolChanges<M> {
        changes(paths.map { FieldPaths.text($0) }) { $0.all(M.self).where(condition) }
    }

    /// Returns the changes of a query; the first one contains all rows.
    ///
    /// ```swift
    /// for try await change in pool.changes(of: { $0.all(Post.self).sorted(by: \.date).limit(20) }) { … }
    /// ```
    public func changes<M: Model>(
        _ paths: FieldPath<M>..., of query: @escaping @Sendable (Store) throws -> Results<M>
    ) -> PoolChanges<M> {
        changes(paths.map { FieldPaths.text($0) }, query)
    }

    private func changes<M: Model>(
        _ keyPaths: [String], _ query: @escaping @Sendable (Store) throws -> Results<M>
    ) -> PoolChanges<M> {
        PoolChanges(pool: self, member: observer, keyPaths: keyPaths, query: query)
    }

    // MARK: The end

    /// Closes the stores and ends the sequences of changes.
    ///
    /// Requests that are running are completed; later ones throw `closed`.
    public func close() {
        let members = takeAll()
        Task { for member in members { await member.close() } }
    }

    /// Refuses further requests, and returns all stores.
    private func takeAll() -> [PoolMember] {
        readers.withLock { readers in
            readers.isClosed = true
            return readers.members.map(\.member)
        } + [writer, observer]
    }
}

#if ServiceLifecycle
    /// The service runs until the group's graceful shutdown or its task's cancellation, and then closes all stores.
    ///
    /// A group stops its services in the reverse order: list the pool before the server, whose last requests need it.
    ///
    /// ```swift
    /// let app = Application(router: router, services: [pool])  // Hummingbird
    /// try await app.runService()
    /// ```
    extension StorePool: Service {
        /// Waits until the group stops, and closes the pool after the requests that are running.
        public func run() async throws {
            try? await gracefulShutdown()
            for member in takeAll() { await member.close() }
        }
    }
#endif

/// How the stores of a pool are opened.
struct PoolSource: Sendable {
    let location: StoreLocation
    let models: [any ObjectModel.Type]
    let version: Int
    let options: StoreOptions

    /// Opens a store for an actor.
    func open(on isolation: isolated any Actor) throws -> Store {
        try Store(
            location, listing: models, version: version, options: options, on: isolation,
            migration: nil)
    }
}

/// One store of a pool, which follows the commits of the others in the turns of this actor.
actor PoolMember {
    private let source: PoolSource
    private var store: Store?
    private var isClosed = false
    /// The rows of observed queries, by the number of the observation.
    private var observed: [Int: AnyObject] = [:]
    private var lastObservation = 0

    init(_ source: PoolSource, _ store: sending Store? = nil) {
        self.source = source
        let signal = store?.context.scheduling?.signal
        self.store = store
        signal?.setActor(self)
    }

    private func opened() throws -> Store {
        guard !isClosed else { throw StoreError(.closed, "the pool was closed") }
        if let store { return store }
        let created = try source.open(on: self)
        store = created
        return created
    }

    func read<R: Sendable>(_ body: @Sendable (Store) throws -> R) throws -> R {
        let store = try opened()
        try store.refresh()
        return try body(store)
    }

    func write<R: Sendable>(_ body: @Sendable (Transaction) throws -> R) async throws -> R {
        try await opened().write(body)
    }

    func close() {
        isClosed = true
        observed = [:]
        store?.close()
    }

    // MARK: Observed queries

    /// Begins an observation, and returns its number.
    func observe<M: Model>(
        _ keyPaths: [String], _ query: @Sendable (Store) throws -> Results<M>
    ) throws -> Int {
        let store = try opened()
        lastObservation += 1
        observed[lastObservation] = try ObservedRows(query(store), keyPaths)
        return lastObservation
    }

    /// Returns the changes of an observation since the last call, and waits if there are none; nil at the end.
    func next<M: Model>(
        _ number: Int, of type: M.Type
    ) async throws -> CollectionChange<[M]>? {
        while let store, let rows = observed[number] as? ObservedRows<M>,
            let signal = store.context.scheduling?.signal
        {
            let count = signal.count
            guard !Task.isCancelled, !store.isClosed else { break }
            try store.refresh()
            if let change = try rows.take() { return change }
            await signal.wait(after: count)
        }
        end(number)
        return nil
    }

    func end(_ number: Int) { observed[number] = nil }
}

/// The changes of a query of a ``StorePool``, as an asynchronous sequence that any task can read.
///
/// The rows of a change are plain values. A change contains everything since the previous one: changes of a slow
/// consumer are combined, and neither the sequence nor a change keeps an old version of the file readable. A change
/// takes time proportional to the number of rows, because the rows are compared with those of the previous change.
///
/// The sequence keeps the pool open. It ends, without an error, when its task is canceled and when the pool is closed.
///
/// ```swift
/// for try await change in pool.changes(of: Dog.self, \.name) {
///     guard case .update(let dogs, _, let insertions, _) = change else { continue }
///     for index in insertions { print(dogs[index].name) }
/// }
/// ```
public struct PoolChanges<M: Model>: AsyncSequence, Sendable {
    /// The rows, and the indexes of the changed ones.
    public typealias Element = CollectionChange<[M]>
    /// An error of the observed data, or of the registration.
    public typealias Failure = any Error

    let pool: StorePool
    let member: PoolMember
    let keyPaths: [String]
    let query: @Sendable (Store) throws -> Results<M>

    /// Begins the observation with the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(observation: PoolObservation(self))
    }

    /// Iterates over changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// An error of the observed data, or of the registration.
        public typealias Failure = any Error

        let observation: PoolObservation<M>

        /// Returns the next change; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws -> CollectionChange<[M]>? {
            try await observation.next()
        }
    }
}

/// An observation of a pool; it ends when it is released.
final class PoolObservation<M: Model>: Sendable {
    private let changes: PoolChanges<M>
    private let number = Mutex<Int?>(nil)

    init(_ changes: PoolChanges<M>) { self.changes = changes }

    deinit {
        guard let number = number.withLock({ $0 }) else { return }
        Task { [member = changes.member] in await member.end(number) }
    }

    func next() async throws -> CollectionChange<[M]>? {
        var known = number.withLock { $0 }
        if known == nil {
            let created = try await changes.member.observe(changes.keyPaths, changes.query)
            number.withLock { $0 = created }
            known = created
        }
        guard let known else { return nil }
        return try await changes.member.next(known, of: M.self)
    }
}

/// The rows of an observed query, as its consumer knows them.
///
/// The engine's observer reports each commit, and keeps no version for this one: the differences are found by comparing
/// the keys that the consumer knows with the present ones.
final class ObservedRows<M: Model> {
    private let results: Results<M>
    private var token: ObjectStore.NotificationToken?
    /// The rows that the consumer knows; nil before the first change.
    private var shown: (keys: [ObjectKey], rows: [M])?
    /// The objects that were modified since.
    private var touched: Set<ObjectKey> = []
    private var hasChanged = false
    private var failure: (any Error)?

    init(_ results: Results<M>, _ keyPaths: [String]) throws {
        self.results = results
        token = try results.engineResults.observe(keyPaths: keyPaths) { [weak self] change in
            self?.receive(change)
        }
    }

    deinit { token?.invalidate() }

    private func receive(_ change: ObjectStore.CollectionChange) {
        hasChanged = true
        switch change.kind {
        case .initial: break
        case .update:
            do {
                let keys = try results.engineResults.keys()
                for index in change.modificationsNew { touched.insert(keys[index]) }
            } catch { failure = error }
        case .error(let error): failure = error
        }
        results.table.context.scheduling?.signal.resumeAll()
    }

    /// Returns the changes since the last call; nil if there are none.
    func take() throws -> CollectionChange<[M]>? {
        if let failure = failure.take() { throw failure }
        guard hasChanged else { return nil }
        let keys = try results.engineResults.keys().array
        guard let (oldKeys, oldRows) = shown else {
            let rows = try keys.map { try results.table.detached($0, as: M.self) }
            show(keys, rows)
            return .initial(rows)
        }
        let changes = SequenceDifference.changes(from: oldKeys, to: keys) { touched.contains($0) }
        // The rows that are neither inserted nor modified are the old values.
        var rows: [M] = []
        rows.reserveCapacity(keys.count)
        var (old, deleted, inserted, modified) = (0, 0, 0, 0)
        for (index, key) in keys.enumerated() {
            if inserted < changes.insertions.count, changes.insertions[inserted] == index {
                inserted += 1
                rows.append(try results.table.detached(key, as: M.self))
                continue
            }
            while deleted < changes.deletions.count, changes.deletions[deleted] == old {
                deleted += 1
                old += 1
            }
            if modified < changes.modificationsNew.count,
                changes.modificationsNew[modified] == index
            {
                modified += 1
                rows.append(try results.table.detached(key, as: M.self))
            } else {
                rows.append(oldRows[old])
            }
            old += 1
        }
        assert(
            inserted == changes.insertions.count && modified == changes.modificationsNew.count,
            "the rows have all changes")
        show(keys, rows)
        guard !changes.isEmpty else { return nil }
        return .update(
            rows, deletions: changes.deletions, insertions: changes.insertions,
            modifications: changes.modificationsNew)
    }

    private func show(_ keys: [ObjectKey], _ rows: [M]) {
        assert(keys.count == rows.count, "each key has its row")
        shown = (keys, rows)
        touched = []
        hasChanged = false
    }
}
