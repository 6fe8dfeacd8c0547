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
}

// MARK: Refining

extension FrozenResults {
    private func refined(
        _ body: (ObjectStore.Results, ModelContext) throws -> ObjectStore.Results
    ) throws -> FrozenResults {
        let query = try evaluated { try body($0, $1).query }
        return FrozenResults(rows.version, query)
    }

    private func evaluated<R>(
        _ body: (ObjectStore.Results, ModelContext) throws -> R
    ) throws -> R {
        try rows.version.read { context in
            try body(ObjectStore.Results(context.source, rows.query), context)
        }
    }

    private func trapping<R>(_ body: () throws -> R) -> R {
        do { return try body() } catch { ModelContext.trap(error) }
    }

    /// Returns the objects that match a condition.
    public func `where`<C: QueryCondition>(_ body: (Fields<M>) -> C) -> FrozenResults {
        let condition = body(Fields<M>()).condition
        return trapping {
            try refined { results, context in
                let (text, arguments) = try condition.expression.numbered(in: context)
                return try results.filtered(text, arguments)
            }
        }
    }

    /// Returns the objects that match a predicate in the text language; `$1`, `$2` … are the arguments.
    ///
    /// Throws `invalid_query` with the text and the position of the error.
    public func `where`(
        _ predicate: String, _ arguments: any StoredValue...
    ) throws -> FrozenResults {
        let values = arguments.map(\.stored)
        return try refined { results, context in
            try results.filtered(predicate, try values.map(context.resolved))
        }
    }

    /// Returns the objects sorted by a property.
    public func sorted<V: StoredValue>(
        by path: KeyPath<Fields<M>, Field<V>>, _ order: SortOrder = .ascending
    ) -> FrozenResults where V._Order == _Ordered {
        sorted([SortKey(path: Fields<M>()[keyPath: path].path, order: order)])
    }

    /// Returns the objects sorted by several properties; the first is the most significant.
    public func sorted(by keys: SortKey<M>...) -> FrozenResults { sorted(keys) }

    private func sorted(_ keys: [SortKey<M>]) -> FrozenResults {
        trapping {
            try refined { results, _ in
                try results.sorted(keys.map { ($0.path, $0.order == .ascending) })
            }
        }
    }

    /// Returns the first object of each combination of values.
    public func distinct(_ paths: FieldPath<M>...) -> FrozenResults {
        let texts = paths.map { FieldPaths.text($0) }
        return trapping { try refined { results, _ in try results.distinct(texts) } }
    }

    /// Returns at most this number of objects from the start.
    ///
    /// A negative count ends the program.
    public func limit(_ count: Int) -> FrozenResults {
        trapping { try refined { results, _ in try results.limited(to: count) } }
    }

    /// Returns the sum of a property, as ``Results/sum(of:)``.
    public func sum<V: NumericValue>(of path: KeyPath<Fields<M>, Field<V>>) -> V.Total {
        let text = Fields<M>()[keyPath: path].path
        return trapping {
            try V._total(Mixed(try evaluated { results, _ in try results.sum(text) }))
        }
    }
    /// Returns the average of a property; nil if no object has a value.
    public func average<V: NumericValue>(of path: KeyPath<Fields<M>, Field<V>>) -> Double? {
        let text = Fields<M>()[keyPath: path].path
        return trapping {
            try Double?(stored: Mixed(try evaluated { results, _ in try results.average(text) }))
        }
    }
    /// Returns the smallest value of a property; nil if no object has a value.
    public func min<V: StoredValue>(of path: KeyPath<Fields<M>, Field<V>>) -> V.Bare?
    where V._Order == _Ordered {
        let text = Fields<M>()[keyPath: path].path
        return trapping {
            try V.Bare?(stored: Mixed(try evaluated { results, _ in try results.minimum(text) }))
        }
    }
    /// Returns the largest value of a property; nil if no object has a value.
    public func max<V: StoredValue>(of path: KeyPath<Fields<M>, Field<V>>) -> V.Bare?
    where V._Order == _Ordered {
        let text = Fields<M>()[keyPath: path].path
        return trapping {
            try V.Bare?(stored: Mixed(try evaluated { results, _ in try results.maximum(text) }))
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

extension Results {
    /// Returns a frozen copy of the results, for any thread.
    ///
    /// Throws `closed`.
    public func freeze() throws -> FrozenResults<M> {
        FrozenResults(try FrozenVersion.of(table.context), engineResults.query)
    }
}
