import ColumnStorage
import ObjectStore
import Synchronization

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
            let made = try await changes.member.observe(changes.keyPaths, changes.query)
            number.withLock { $0 = made }
            known = made
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
        show(keys, rows)
        guard !changes.isEmpty else { return nil }
        return .update(
            rows, deletions: changes.deletions, insertions: changes.insertions,
            modifications: changes.modificationsNew)
    }

    private func show(_ keys: [ObjectKey], _ rows: [M]) {
        shown = (keys, rows)
        touched = []
        hasChanged = false
    }
}
