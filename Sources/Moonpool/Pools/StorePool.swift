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
        defer { readers.withLock { $0.members[index].load -= 1 } }
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
            let least = readers.members.indices.min {
                readers.members[$0].load < readers.members[$1].load
            }
            if let least, readers.members[least].load == 0 || readers.members.count == limit {
                readers.members[least].load += 1
                return (least, readers.members[least].member)
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
