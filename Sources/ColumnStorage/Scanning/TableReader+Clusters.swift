// Scans of one cluster of one column at a time, with bitmaps as results. Conjunctions scan the next column only for the
// remaining rows. A cluster out of bounds, an unknown column and a test that does not fit the column's kind match no
// rows.
extension TableReader {
    /// Returns the existing rows of a cluster.
    @inlinable
    package func presence(_ cluster: Int) throws(StorageError) -> ClusterBits {
        guard UInt(bitPattern: cluster) < UInt(bitPattern: state.pointee.clusterCount) else {
            return .zero
        }
        return try leaf(0, cluster).loadUnaligned(as: ClusterBits.self)
    }

    /// Returns the leaf of a column; nil if the column or cluster does not exist.
    @inline(__always)
    func column(_ column: ColumnID, _ cluster: Int) throws(StorageError) -> (
        leaf: Leaf, kind: ColumnKind
    )? {
        guard let kind = kind(of: column),
            UInt(bitPattern: cluster) < UInt(bitPattern: state.pointee.clusterCount)
        else { return nil }
        return try (Leaf(leaf(column.rawValue + 1, cluster)), kind)
    }

    /// Returns those rows of `among` whose values pass the test.
    ///
    /// `among` must contain only existing rows.
    package func matches(
        _ column: ColumnID, _ cluster: Int, _ test: ColumnTest, among: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        guard !among.isEmpty, let (leaf, kind) = try self.column(column, cluster) else {
            return .zero
        }
        switch test {
        case .isNull: return nulls(leaf, kind) & among
        case .notNull: return among & ~nulls(leaf, kind)
        default: break
        }
        let rows: ClusterBits
        let includesNulls: Bool
        switch kind {
        case .int, .bool, .list:
            (rows, includesNulls) = matchingInts(leaf, test, among, offset: 0)
        case .link:
            (rows, includesNulls) = matchingInts(leaf, test, among, offset: 1)
        case .float, .double:
            (rows, includesNulls) = matchingDoubles(leaf, test, among, isFloat: kind == .float)
        case .string, .data, .bytes12, .bytes16:
            return try matchingBytes(
                column, cluster, in: leaf, test: test, among: among, nulls: leaf.nulls)
        }
        guard leaf.hasNulls || kind == .link else { return rows & among }
        let nulls = nulls(leaf, kind)
        return (includesNulls ? rows | nulls : rows & ~nulls) & among
    }

    func nulls(_ leaf: Leaf, _ kind: ColumnKind) -> ClusterBits {
        kind == .link ? IntKernels.rows(of: leaf, from: 0, through: 0) : leaf.nulls
    }

    private func matchingInts(
        _ leaf: Leaf, _ test: ColumnTest, _ among: ClusterBits, offset: Int64
    ) -> (ClusterBits, includesNulls: Bool) {
        func range(_ low: Int64, _ high: Int64) -> ClusterBits {
            // Links are stored as key + 1; no key is near the end of the range.
            let first = offset == 0 ? low : max(low, -1) &+ offset
            let last = offset == 0 || high == .max ? high : high &+ offset
            return IntKernels.rows(of: leaf, from: first, through: last)
        }
        switch test {
        case .int(let comparison, let value):
            switch comparison {
            case .equal: return (range(value, value), false)
            case .notEqual: return (~range(value, value) & Cluster.all, true)
            case .less: return (value == .min ? .zero : range(.min, value - 1), false)
            case .lessOrEqual: return (range(.min, value), false)
            case .greater: return (value == .max ? .zero : range(value + 1, .max), false)
            case .greaterOrEqual: return (range(value, .max), false)
            }
        case .intBetween(let low, let high): return (range(low, high), false)
        case .bool(let value): return (range(value ? 1 : 0, value ? 1 : 0), false)
        case .intIn(let set):
            guard set.count <= 4 else {
                return (set.rows(of: leaf, offset: offset, among: among), false)
            }
            var rows = ClusterBits.zero
            for value in set.values { rows |= range(value, value) }
            return (rows, false)
        default: return (.zero, false)
        }
    }

    private func matchingDoubles(
        _ leaf: Leaf, _ test: ColumnTest, _ among: ClusterBits, isFloat: Bool
    ) -> (ClusterBits, includesNulls: Bool) {
        switch test {
        case .doubleIn(let set):
            (set.patterns.rows(ofReals: leaf, isFloat: isFloat, among: among), false)
        case .double(let comparison, let value):
            (DoubleKernels.rows(of: leaf, comparison, value), comparison == .notEqual)
        case .doubleBetween(let low, let high):
            (DoubleKernels.rows(of: leaf, from: low, through: high), false)
        default: (.zero, false)
        }
    }

    private func matchingBytes(
        _ column: ColumnID, _ cluster: Int, in leaf: Leaf, test: ColumnTest, among: ClusterBits,
        nulls: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        let rows = among & ~nulls
        @inline(__always)
        func with(
            _ wanted: [UInt8], among chosen: ClusterBits? = nil,
            _ test: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
        ) throws(StorageError) -> ClusterBits {
            try wanted.withBytes { wanted throws(StorageError) in
                try filter(column, cluster, in: leaf, among: chosen ?? rows) { test($0, wanted) }
            }
        }
        switch test {
        case .bytesEqual(let wanted):
            let rows = candidates(leaf, wanted, rows)
            return try with(wanted, among: rows, BytesTest.isEqual)
        case .bytesNotEqual(let wanted):
            return try with(wanted) { !BytesTest.isEqual($0, $1) } | nulls & among
        case .bytesPrefix(let wanted):
            let rows = candidates(leaf, wanted, rows)
            return try with(wanted, among: rows, BytesTest.startsWith)
        case .bytesSuffix(let wanted): return try with(wanted, BytesTest.endsWith)
        case .bytesContain(let wanted): return try with(wanted, BytesTest.contains)
        case .bytesCompare(let comparison, let wanted):
            let found = try with(wanted) { comparison.holds(BytesTest.order($0, $1)) }
            return comparison == .notEqual ? found | nulls & among : found
        case .bytesIn(let wanted):
            return try filter(column, cluster, in: leaf, among: rows) { wanted.contains($0) }
        default: return .zero
        }
    }

    /// Returns the rows that may begin with these bytes.
    private func candidates(_ leaf: Leaf, _ wanted: [UInt8], _ rows: ClusterBits) -> ClusterBits {
        guard !wanted.isEmpty, leaf.encoding == LeafEncoding.text16, !leaf.hasLong else {
            return rows
        }
        return wanted.withUnsafeBytes {
            TextKernels.rows(of: leaf, beginningWith: $0, among: rows)
        }
    }

    /// Returns the rows whose bytes pass.
    ///
    /// Each entry of a dictionary is tested once.
    @inline(__always)
    private func filter(
        _ column: ColumnID, _ cluster: Int, in leaf: Leaf, among rows: ClusterBits,
        _ test: (UnsafeRawBufferPointer) throws(StorageError) -> Bool
    ) throws(StorageError) -> ClusterBits {
        if leaf.encoding == LeafEncoding.dictionary {
            let codes = leaf.payload
            return try withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) {
                (answers) throws(StorageError) in
                // 2 means that the entry was not tested yet.
                answers.initializeMemory(as: UInt8.self, repeating: 2)
                return try rows.keeping { row throws(StorageError) in
                    let code = Int(codes.load(fromByteOffset: row, as: UInt8.self))
                    if answers[code] == 2 { answers[code] = try test(leaf.entry(code)) ? 1 : 0 }
                    return UInt64(answers[code])
                }
            }
        }
        let isPlain = leaf.encoding == LeafEncoding.text16 && !leaf.hasLong
        let base = Int64(cluster * Cluster.rows)
        return try rows.keeping { row throws(StorageError) in
            let bytes =
                try isPlain
                ? leaf.bytes(row)
                : self.bytes(column, ObjectKey(base &+ Int64(row)), Cell(leaf: leaf, row: row))
            return try test(bytes) ? 1 : 0
        }
    }

    /// Returns those rows of `among` that are not null and whose bytes pass the test.
    package func matchesBytes(
        _ column: ColumnID, _ cluster: Int, among: ClusterBits,
        _ test: (RawSpan) throws(StorageError) -> Bool
    ) throws(StorageError) -> ClusterBits {
        guard !among.isEmpty, let (leaf, kind) = try self.column(column, cluster),
            kind == .string || kind == .data || kind == .bytes12 || kind == .bytes16
        else { return .zero }
        return try filter(column, cluster, in: leaf, among: among & ~leaf.nulls) {
            bytes throws(StorageError) in
            try test(bytes.bytes)
        }
    }
}
