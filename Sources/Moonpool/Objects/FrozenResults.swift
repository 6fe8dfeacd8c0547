import ColumnStorage
import ObjectStore
import Synchronization

/// The objects of a query in one version: a collection for any thread.
///
/// The query runs when the rows are first accessed, and further conditions and orders can extend it. The results keep
/// their version readable. Release them soon.
///
/// ```swift
/// let past = try store.freeze()
/// Task.detached { print(past.all(Dog.self).where { $0.age > 10 }.sorted(by: \.name).count) }
/// ```
public struct FrozenResults<M: Model>: RandomAccessCollection, Sendable {
    private let rows: FrozenRows

    init(_ version: FrozenVersion, _ query: Query) { rows = FrozenRows(version, query) }

    private var keys: ResultKeys {
        do { return try rows.keys() } catch { ModelContext.trap(error) }
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { keys.count }
    /// The object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> Frozen<M> {
        let keys = keys
        precondition(index >= 0 && index < keys.count, "index \(index) is out of range")
        return Frozen(rows.version, keys[index])
    }
    /// Returns the plain values.
    ///
    /// Throws `type_mismatch`, `out_of_range`.
    public func detached() throws -> [M] {
        let keys = try rows.keys()
        return try rows.version.read { context in
            let table = try context.table(M.self)
            return try keys.map { try table.detached($0, as: M.self) }
        }
    }

    var version: FrozenVersion { rows.version }

    /// Calls a function with the results in the version.
    func evaluated<R>(_ body: (ObjectStore.Results, ModelContext) throws -> R) throws -> R {
        try rows.version.read { context in
            try body(ObjectStore.Results(context.source, rows.query), context)
        }
    }
}

/// The keys of a query in one version, computed once.
private final class FrozenRows: Sendable {
    let version: FrozenVersion
    let query: Query
    private let found = Mutex<ResultKeys?>(nil)

    init(_ version: FrozenVersion, _ query: Query) {
        self.version = version
        self.query = query
    }

    func keys() throws -> ResultKeys {
        if let known = found.withLock({ $0 }) { return known }
        let keys = try version.read { context in
            try ObjectStore.Results(context.source, query).keys()
        }
        found.withLock { $0 = keys }
        return keys
    }
}
