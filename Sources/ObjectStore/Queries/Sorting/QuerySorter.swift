import ColumnStorage

/// Sorts keys with a stable sort.
///
/// Values are read from their columns once, as 64-bit codes that have the order of the values, and the codes are sorted
/// by radix sort. Several sort keys take several stable passes, the least significant key first.
struct QuerySorter {
    private let keys: [SortKey]
    private let values: [BoundPath]
    private let rows: TableReader
    private let view: StoreView

    /// Creates a sorter with at least one sort key.
    init(_ keys: [SortKey], table: TableID, in view: StoreView) throws {
        assert(!keys.isEmpty, "a sort order has at least one key")
        self.keys = keys
        values = try keys.map { try $0.bound(to: view) }
        rows = try view.table(table)
        self.view = view
    }

    /// Returns the same sorter for the thread of another view.
    private func moved(to view: StoreView) throws -> QuerySorter {
        try QuerySorter(keys, table: rows.id, in: view)
    }

    /// Returns all keys in order.
    func sorted(_ keys: ResultKeys) throws -> ResultKeys {
        try ResultKeys(coded(keys).map(\.key))
    }

    /// Returns all keys in order, with their codes from ``SortComparator/code(of:)``.
    func coded(_ keys: ResultKeys) throws -> [CodedKey] {
        var order = keys
        for index in self.keys.indices.dropFirst().reversed() {
            order = try ResultKeys(pass(index, order).map(\.key))
        }
        return try pass(0, order)
    }

    /// Returns the first keys in order; keys that cannot be among them are dropped early.
    func first(_ limit: Int, of keys: ResultKeys) throws -> ResultKeys {
        guard limit > 0 else { return ResultKeys([]) }
        guard keys.count / 4 > limit, let source = values[0].ownColumn, isCoded(source) else {
            return try sorted(keys).prefix(limit)
        }
        // The last objects are often the first in order, such as the newest ones. Without their bound, each cluster of
        // a class in the opposite order would have better objects than all clusters before it.
        let bound = try keys.lastClusters(with: limit).flatMap {
            let found = try first(limit, of: source, in: $0, bound: nil)
            return found.count == limit ? try code(source, found[limit - 1]) : nil
        }
        let parts = try keys.scan(rows.id, in: view, isEven: true) { _, view in
            let sorter = try moved(to: view)
            return { try sorter.first(limit, of: source, in: $0, bound: bound) }
        }
        if let parts {
            let found = ResultKeys(parts.flatMap { $0 })
            return parts.count > 1 ? try sorted(found).prefix(limit) : found
        }
        var best = best(limit, of: source)
        for key in keys { try best.add(key, code(source, key)) }
        return try ResultKeys(best.result())
    }

    private func best(_ limit: Int, of source: ColumnSource) -> BestKeys {
        BestKeys(limit: limit, ascending: keys[0].ascending, keepsTies: keys.count > 1) {
            candidates in
            try coded(ResultKeys(candidates)).map(\.key)
        } code: { key in
            try code(source, key)
        }
    }

    /// Returns the first keys of some clusters in order, without those that come after the bound, the code of a key that
    /// `limit` keys do not come after.
    private func first(
        _ limit: Int, of source: ColumnSource, in clusters: KeyClusters, bound: UInt64?
    ) throws -> [ObjectKey] {
        var best = best(limit, of: source)
        best.bound = bound
        var column = CodedColumn()
        let interruption = Interruption.current
        for (cluster, bits) in clusters {
            try interruption?.step()
            let bits =
                try best.bound.map {
                    try better(than: $0, in: source, cluster: cluster, among: bits)
                }
                ?? bits
            if bits.isEmpty { continue }
            column.removeAll()
            try gather(source, cluster, bits, into: &column)
            let first = Int64(cluster * Cluster.rows)
            var values = 0
            try column.present.forEachRow { row in
                try best.add(ObjectKey(rawValue: first + Int64(row)), column.codes[values])
                values += 1
            }
            try (bits & ~column.present).forEachRow { row in
                try best.add(ObjectKey(rawValue: first + Int64(row)), nil)
            }
        }
        return try best.result()
    }

    /// Returns the rows of a cluster that can still be among the first, without reading their values one by one.
    ///
    /// Rows that equal the bound are kept, because they may be among the first.
    private func better(
        than bound: UInt64, in source: ColumnSource, cluster: Int, among bits: ClusterBits
    ) throws -> ClusterBits {
        let ascending = keys[0].ascending
        let comparison: Comparison = ascending ? .lessOrEqual : .less
        let test: ColumnTest
        if source.type == .double {
            test = .double(comparison, SortCode.double(bound))
        } else {
            test = .int(comparison, SortCode.int(bound))
        }
        let below = try rows.matches(source.column, cluster, test, among: bits)
        let nulls = try rows.matches(source.column, cluster, .isNull, among: bits)
        return ascending ? below | nulls : bits & ~below & ~nulls
    }

    /// Sorts by one key in a stable pass.
    private func pass(_ index: Int, _ selection: ResultKeys) throws -> [CodedKey] {
        let ascending = keys[index].ascending
        let codeOfNil = SortCode.ofNil(ascending: ascending)
        var nulls: [CodedKey] = []
        var entries: [CodedKey] = []
        if let source = values[index].ownColumn, isCoded(source),
            let parts = try selection.scan(
                rows.id, in: view, isEven: true,
                { _, view in
                    let sorter = try moved(to: view)
                    return { try sorter.sorted(source, ascending, in: $0) }
                })
        {
            entries = RadixSort.merged(parts.map(\.entries))
            nulls = parts.flatMap(\.nulls)
        } else {
            entries.reserveCapacity(selection.count)
            var arena = TextArena()
            for key in selection {
                guard let (code, text) = try values[index].code(key) else {
                    nulls.append(CodedKey(code: codeOfNil, key: key))
                    continue
                }
                if let text { arena.add(text) }
                entries.append(CodedKey(code: ascending ? code : ~code, key: key))
            }
            if arena.isEmpty {
                RadixSort.sort(&entries)
            } else {
                arena.sort(&entries, ascending: ascending)
            }
        }
        guard !nulls.isEmpty else { return entries }
        return ascending ? nulls + entries : entries + nulls
    }

    /// Returns the keys of some clusters in order, and those without a value.
    private func sorted(
        _ source: ColumnSource, _ ascending: Bool, in clusters: KeyClusters
    ) throws -> (entries: [CodedKey], nulls: [CodedKey]) {
        var nulls: [CodedKey] = []
        var entries: [CodedKey] = []
        entries.reserveCapacity(clusters.reduce(0) { $0 + $1.bits.rowCount })
        var column = CodedColumn()
        let interruption = Interruption.current
        for (cluster, bits) in clusters {
            column.removeAll()
            try gather(source, cluster, bits, into: &column)
            try interruption?.step(Cluster.rows)
            let first = Int64(cluster * Cluster.rows)
            var values = 0
            column.present.forEachRow { row in
                let code = column.codes[values]
                entries.append(
                    CodedKey(
                        code: ascending ? code : ~code,
                        key: ObjectKey(rawValue: first + Int64(row))))
                values += 1
            }
            (bits & ~column.present).forEachRow { row in
                nulls.append(
                    CodedKey(
                        code: SortCode.ofNil(ascending: ascending),
                        key: ObjectKey(rawValue: first + Int64(row))))
            }
        }
        RadixSort.sort(&entries)
        return (entries, nulls)
    }

    /// The values of a cluster that are not nil, and the rows that have them.
    private struct CodedColumn {
        var codes: [UInt64] = []
        var present = ClusterBits.zero
        var ints: [Int64] = []
        var doubles: [Double] = []

        mutating func removeAll() {
            codes.removeAll(keepingCapacity: true)
            ints.removeAll(keepingCapacity: true)
            doubles.removeAll(keepingCapacity: true)
            present = .zero
        }
    }

    private func isCoded(_ source: ColumnSource) -> Bool {
        [.int, .date, .double].contains(source.type)
    }

    private func gather(
        _ source: ColumnSource, _ cluster: Int, _ bits: ClusterBits,
        into column: inout CodedColumn
    ) throws {
        column.present = try rows.matches(source.column, cluster, .notNull, among: bits)
        if source.type == .double {
            try rows.gatherDoubles(
                source.column, cluster, among: column.present, into: &column.doubles)
            for value in column.doubles { column.codes.append(SortCode.of(value)) }
        } else {
            try rows.gatherInts(source.column, cluster, among: column.present, into: &column.ints)
            for value in column.ints { column.codes.append(SortCode.of(value)) }
        }
        assert(column.codes.count == column.present.rowCount, "each value has a code")
    }

    private func code(_ source: ColumnSource, _ key: ObjectKey) throws -> UInt64? {
        try source.type == .double
            ? rows.double(source.column, key).map(SortCode.of)
            : rows.int(source.column, key).map(SortCode.of)
    }
}

/// The best keys of a stream so far.
private struct BestKeys {
    private let limit: Int
    private let ascending: Bool
    private let keepsTies: Bool
    private let sort: ([ObjectKey]) throws -> [ObjectKey]
    private let code: (ObjectKey) throws -> UInt64?
    private var kept: [ObjectKey] = []
    private let capacity: Int
    /// Whether the limit is reached, so that `bound`, the code of the last key, excludes worse keys.
    private var isFull = false
    /// The code that excludes worse keys of a cluster together; nil for none, or if it is that of nil.
    var bound: UInt64?

    init(
        limit: Int, ascending: Bool, keepsTies: Bool,
        sort: @escaping ([ObjectKey]) throws -> [ObjectKey],
        code: @escaping (ObjectKey) throws -> UInt64?
    ) {
        self.limit = limit
        self.ascending = ascending
        self.keepsTies = keepsTies
        self.sort = sort
        self.code = code
        capacity = max(1024, 4 * limit)
        assert(limit > 0, "at least one key is kept")
    }

    @inline(__always)
    mutating func add(_ key: ObjectKey, _ code: UInt64?) throws {
        if isFull {
            let isBetter: Bool
            let isTie: Bool
            switch (code, bound) {
            case (let code?, let bound?):
                isBetter = ascending ? code < bound : code > bound
                isTie = code == bound
            case (nil, nil): (isBetter, isTie) = (false, true)
            case (nil, _?): (isBetter, isTie) = (ascending, false)
            case (_?, nil): (isBetter, isTie) = (!ascending, false)
            }
            guard isBetter || (isTie && keepsTies) else { return }
        }
        kept.append(key)
        if kept.count >= capacity { try shrink() }
    }

    private mutating func shrink() throws {
        kept = try Array(sort(kept).prefix(limit))
        guard kept.count == limit, let last = kept.last else { return }
        bound = try code(last)
        isFull = true
    }

    mutating func result() throws -> [ObjectKey] {
        try shrink()
        return kept
    }
}

/// Compares objects of a view by sort keys; objects with equal values are in the order of their creation.
///
/// A comparator is confined to the view's thread and follows a live view.
package struct SortComparator {
    private let keys: [BoundPath]
    private let ascending: [Bool]

    /// Creates a comparator of objects in a view.
    package init(_ keys: [SortKey], in view: StoreView) throws {
        self.keys = try keys.map { try $0.bound(to: view) }
        ascending = keys.map(\.ascending)
    }

    /// Compares two objects: -1, 0 or 1; 0 only for the same object.
    package func order(_ left: ObjectKey, _ right: ObjectKey) throws -> Int {
        let order = try orderByValues(left, right)
        return order != 0 || left == right ? order : left < right ? -1 : 1
    }

    /// Compares the values of two objects: -1, 0 or 1; 0 for equal values.
    func orderByValues(_ left: ObjectKey, _ right: ObjectKey) throws -> Int {
        for (index, key) in keys.enumerated() {
            let order = try SortComparator.order(key.value(left), key.value(right))
            if order != 0 { return ascending[index] ? order : -order }
        }
        return 0
    }

    /// Returns a 64-bit code of an object's first key.
    ///
    /// If two codes differ, the object with the smaller code comes first.
    func code(of key: ObjectKey) throws -> UInt64 {
        let first = keys[0]
        guard let code = try first.code(key)?.code else {
            return SortCode.ofNil(ascending: ascending[0])
        }
        return ascending[0] ? code : ~code
    }

    /// Returns -1, 0 or 1 for any two values: nil comes first, then the order of ``ValueOrder``.
    static func order(_ left: Scalar, _ right: Scalar) -> Int {
        switch (left, right) {
        case (.null, .null): 0
        case (.null, _): -1
        case (_, .null): 1
        default: Scalar.order(left, right) ?? ValueOrder.order(left.value, right.value)
        }
    }
}

/// The key by which `distinct` compares objects: one value of each object.
package struct DistinctKey: Hashable, Sendable {
    private let value: ValuePath

    /// Parses a key of a class.
    ///
    /// Throws `unknown_property`, and `invalid_query` for a path with any number of values.
    package init(_ text: String, class classSchema: ClassSchema, schema: Schema) throws {
        try self.init(ValuePath(text, class: classSchema, schema: schema))
    }

    /// Creates a key from a path.
    ///
    /// Throws `invalid_query` for a path with any number of values.
    init(_ value: ValuePath) throws(StoreError) {
        try value.requireOne(for: "distinct")
        self.value = value
    }

    /// The text of the key.
    package var description: String { value.text }
    /// Every key path that the value depends on.
    package var dependencies: [PropertyPath] { value.dependencies }

    /// Returns the key with the same meaning in another schema.
    func remade(class classSchema: ClassSchema, schema: Schema) throws -> DistinctKey {
        try DistinctKey(value.remade(class: classSchema, schema: schema))
    }

    /// Returns a function that reads the value of an object in a view; objects with equal values are duplicates.
    func reader(in view: StoreView) throws -> (ObjectKey) throws -> Scalar {
        let bound = try value.bound(to: view)
        return { try bound.value($0) }
    }
}
