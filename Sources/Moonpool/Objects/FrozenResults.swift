import ColumnStorage
import ObjectStore
import Synchronization

/// The objects of a query in one version: a collection for any thread.
///
/// The query runs when the rows are first accessed. The results keep their version readable. Release them soon.
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
}

/// The keys of a query in one version, computed once.
private final class FrozenRows: Sendable {
    let version: FrozenVersion
    private let query: Query
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

extension Results {
    /// Returns a frozen copy of the results, for any thread.
    ///
    /// Throws `closed`.
    public func freeze() throws -> FrozenResults<M> {
        FrozenResults(try FrozenVersion.of(table.context), engineResults.query)
    }
}
