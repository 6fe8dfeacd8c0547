// Aggregates and values of a cluster. Null rows are ignored. `among` must contain only existing rows.
extension TableReader {
    private func integers(
        _ column: ColumnID, _ cluster: Int, _ among: ClusterBits
    ) throws(StorageError) -> (leaf: Leaf, rows: ClusterBits)? {
        guard let (leaf, kind) = try self.column(column, cluster) else { return nil }
        switch kind {
        case .int, .bool, .list, .link: return (leaf, among & ~nulls(leaf, kind))
        default: return nil
        }
    }

    private func doubles(
        _ column: ColumnID, _ cluster: Int, _ among: ClusterBits
    ) throws(StorageError) -> (leaf: Leaf, rows: ClusterBits, isFloat: Bool)? {
        guard let (leaf, kind) = try self.column(column, cluster), kind == .double || kind == .float
        else { return nil }
        return (leaf, among & ~leaf.nulls, kind == .float)
    }

    /// Returns the exact sum of integers, which can need more than 64 bits, and their number.
    package func sumInt(_ column: ColumnID, _ cluster: Int, among: ClusterBits) throws(StorageError)
        -> (sum: Int128, count: Int)
    {
        guard let (leaf, rows) = try integers(column, cluster, among) else { return (0, 0) }
        let sum: Int128
        switch leaf.encoding {
        case LeafEncoding.constant, LeafEncoding.bits1:
            let ones =
                leaf.encoding == LeafEncoding.bits1
                ? (Leaf.bitmap(at: leaf.payload) & rows).rowCount : 0
            sum = IntKernels.total(of: rows, least: leaf.minimum, offsets: UInt64(ones))
        case LeafEncoding.bits8: sum = IntKernels.sum(of: leaf, rows, UInt8.self)
        case LeafEncoding.bits16: sum = IntKernels.sum(of: leaf, rows, UInt16.self)
        case LeafEncoding.bits32: sum = IntKernels.sum(of: leaf, rows, UInt32.self)
        default:
            var total: Int128 = 0
            rows.forEachRow { total &+= Int128(leaf.int($0)) }
            sum = total
        }
        return (sum, rows.rowCount)
    }

    /// Adds the floats or doubles to a sum, and returns their number.
    package func addDoubles(
        _ column: ColumnID, _ cluster: Int, among: ClusterBits, to sum: inout ExactSum
    ) throws(StorageError) -> Int {
        guard let (leaf, rows, isFloat) = try doubles(column, cluster, among) else { return 0 }
        sum.add(leaf, rows, isFloat: isFloat)
        return rows.rowCount
    }

    /// Returns the least integer; nil if all rows are null.
    package func minInt(_ column: ColumnID, _ cluster: Int, among: ClusterBits) throws(StorageError)
        -> Int64?
    {
        guard let (leaf, rows) = try integers(column, cluster, among), !rows.isEmpty else {
            return nil
        }
        var least = Int64.max
        rows.forEachRow { least = min(least, leaf.int($0)) }
        return least
    }

    /// Returns the greatest integer; nil if all rows are null.
    package func maxInt(_ column: ColumnID, _ cluster: Int, among: ClusterBits) throws(StorageError)
        -> Int64?
    {
        guard let (leaf, rows) = try integers(column, cluster, among), !rows.isEmpty else {
            return nil
        }
        var greatest = Int64.min
        rows.forEachRow { greatest = max(greatest, leaf.int($0)) }
        return greatest
    }

    /// Returns the least float or double that is not NaN; nil if there is none.
    package func minDouble(_ column: ColumnID, _ cluster: Int, among: ClusterBits)
        throws(StorageError) -> Double?
    {
        try extreme(column, cluster, among: among) { $0 < $1 }
    }

    /// Returns the greatest float or double that is not NaN; nil if there is none.
    package func maxDouble(_ column: ColumnID, _ cluster: Int, among: ClusterBits)
        throws(StorageError) -> Double?
    {
        try extreme(column, cluster, among: among) { $0 > $1 }
    }

    @inline(__always)
    private func extreme(
        _ column: ColumnID, _ cluster: Int, among: ClusterBits, _ isBetter: (Double, Double) -> Bool
    ) throws(StorageError) -> Double? {
        guard let (leaf, rows, isFloat) = try doubles(column, cluster, among) else { return nil }
        var best: Double?
        rows.forEachRow { row in
            let value = isFloat ? Double(leaf.float(row)) : leaf.double(row)
            if value == value && best.map({ isBetter(value, $0) }) ?? true { best = value }
        }
        return best
    }

    /// Appends the values of the rows as integers, in the order of the rows.
    ///
    /// Booleans are 0 and 1, lists are their counts, and links are keys, or -1 for none. A null row is 0, so call
    /// `matches(.notNull)` first.
    package func gatherInts(
        _ column: ColumnID, _ cluster: Int, among: ClusterBits, into values: inout [Int64]
    ) throws(StorageError) {
        guard let (leaf, kind) = try self.column(column, cluster) else { return }
        let offset: Int64 = kind == .link ? 1 : 0
        switch kind {
        case .int, .bool, .list, .link:
            among.forEachRow { values.append(leaf.int($0) &- offset) }
        default: return
        }
    }

    /// Appends the floats or doubles of the rows, in the order of the rows.
    ///
    /// A null row is 0.
    package func gatherDoubles(
        _ column: ColumnID, _ cluster: Int, among: ClusterBits, into values: inout [Double]
    ) throws(StorageError) {
        guard let (leaf, kind) = try self.column(column, cluster) else { return }
        switch kind {
        case .double: among.forEachRow { values.append(leaf.double($0)) }
        case .float: among.forEachRow { values.append(Double(leaf.float($0))) }
        default: return
        }
    }
}
