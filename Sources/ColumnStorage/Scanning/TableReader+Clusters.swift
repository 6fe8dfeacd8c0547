import LMDBStorage

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

    /// Returns those rows of `among` whose values of a column can differ from those in another version of the table.
    ///
    /// Versions share the leaves that no commit between them has changed. Long values and long collections are not in
    /// leaves, so their rows are always returned. `among` must contain only rows that exist in both versions.
    package func rows(
        thatMayDifferFrom old: TableReader, in column: ColumnID, _ cluster: Int, among: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        guard try sharesLeaf(with: old, column, cluster),
            let (leaf, kind) = try self.column(column, cluster)
        else { return among }
        switch kind {
        case .bool, .int, .float, .double, .link: return .zero
        case .string, .data, .bytes12, .bytes16:
            return leaf.encoding == LeafEncoding.pointers ? among : leaf.longs & among
        case .list:
            let filled = among & ~IntKernels.rows(of: leaf, from: 0, through: 0)
            let contents = definition.columns[column.rawValue].contentsColumns
            guard !filled.isEmpty, !contents.isEmpty, let list = lists[column.rawValue] else {
                return filled
            }
            for column in contents {
                guard try sharesLeaf(with: old, column.id, cluster) else { return filled }
            }
            let base = Int64(cluster * Cluster.rows)
            return try filled.keeping { row throws(StorageError) in
                let owner = base + Int64(row)
                let isShort = try list.isInRow(owner) ? list.keys?.isInRow(owner) ?? true : false
                return isShort ? 0 : 1
            }
        }
    }

    private func sharesLeaf(
        with old: TableReader, _ column: ColumnID, _ cluster: Int
    ) throws(StorageError) -> Bool {
        guard let own = try self.column(column, cluster),
            let other = try old.column(column, cluster)
        else { return false }
        return own.kind == other.kind && own.leaf.address == other.leaf.address
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
            return try wanted.withLookup { isWanted throws(StorageError) in
                try filter(column, cluster, in: leaf, among: rows) { isWanted($0) }
            }
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
            sum = IntKernels.total(of: rows, lowest: leaf.minimum, offsets: UInt64(ones))
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
        var lowest = Int64.max
        rows.forEachRow { lowest = min(lowest, leaf.int($0)) }
        return lowest
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

// Links of many rows at once, for conditions on linked rows that were evaluated in advance.
extension TableReader {
    /// Returns those rows of `among` whose link is to one of `targets`; null links do not match.
    ///
    /// `among` must contain only existing rows. Takes a load and a bit test for each of them.
    package func matches(
        _ column: ColumnID, _ cluster: Int, linkedTo targets: TargetBits, among: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        guard !among.isEmpty, let (leaf, kind) = try self.column(column, cluster), kind == .link
        else {
            return .zero
        }
        return targets.words.withUnsafeBufferPointer { words in
            switch leaf.encoding {
            case LeafEncoding.bits8: LinkKernels.rows(of: leaf, UInt8.self, words, among)
            case LeafEncoding.bits16: LinkKernels.rows(of: leaf, UInt16.self, words, among)
            case LeafEncoding.bits32: LinkKernels.rows(of: leaf, UInt32.self, words, among)
            case LeafEncoding.bits64: LinkKernels.rows(of: leaf, UInt64.self, words, among)
            default: LinkKernels.anyRows(of: leaf, words, among)
            }
        }
    }

    /// Returns the rows of this table whose link or list in `column` contains one of `targets`.
    ///
    /// Takes lookups for a few targets, and one pass through the index of the column for many.
    package func sources(of targets: RowSet, through column: ColumnID) throws(StorageError)
        -> RowSet
    {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        let wanted = targets.count
        if wanted == 0 { return found }
        if wanted < count / 16 {
            try targets.forEach { target throws(StorageError) in
                for source in try sources(of: target, through: column) { found.insert(source) }
            }
            return found
        }
        _ = try read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if targets.contains(ObjectKey(rawValue: target)) { found.insert(source) }
                return true
            }
        }
        return found
    }

    /// Returns the rows of another table to which some rows of this table link.
    ///
    /// `sources` are the rows of this table, `column` is their link or list, and `clusterCount` is the number of
    /// clusters of the other table. Takes one pass through the index of the column.
    package func targets(
        of sources: RowSet, through column: ColumnID, clusterCount: Int
    ) throws(StorageError) -> RowSet {
        var found = RowSet(clusterCount: clusterCount)
        guard let index = intIndex(column) else { return found }
        _ = try read { (transaction) throws(StorageError) in
            try index.forEach(in: transaction) { target, source in
                if sources.contains(source) { found.insert(ObjectKey(rawValue: target)) }
                return true
            }
        }
        return found
    }

    /// Returns the value of a key in a row's map; nil for a missing key, a missing row and another kind of column.
    package func mapValue(_ column: ColumnID, _ key: ObjectKey, _ name: [UInt8])
        throws(StorageError) -> ListElement?
    {
        try map(column, key)?.value(name)
    }

    /// Returns one element of a row's list; nil past the end, for a missing row and for another kind of column.
    package func listElement(
        _ column: ColumnID, _ key: ObjectKey, at position: Int
    ) throws(StorageError) -> ListElement? {
        try list(column, key)?.element(at: position)
    }
}

/// A set of rows in which links are looked up: one bit for each key without the gaps between clusters, so a link is
/// found with a shift.
///
/// The set is immutable and takes one bit for each key.
package struct TargetBits: Sendable {
    /// The bits: bit `key % 64` of word `key / 64`; the last word is 0, for keys outside.
    let words: [UInt64]

    /// Creates the bits of some rows.
    package init(_ rows: RowSet) {
        // There are two more words: the last cluster may reach into one, and one must remain 0.
        var words = [UInt64](repeating: 0, count: rows.clusterCount * Cluster.rows / 64 + 3)
        for cluster in 0..<rows.clusterCount {
            let bits = rows[cluster]
            if bits.isEmpty { continue }
            let shift = UInt64(cluster * Cluster.rows % 64)
            let first = cluster * Cluster.rows / 64
            for word in 0..<Cluster.words {
                words[first + word] |= bits[word] << shift
                // because: a shift by 64 gives 0.
                let rest = bits[word] >> (64 - shift)
                if rest != 0 { words[first + word + 1] |= rest }
            }
        }
        assert(words.last == 0, "the last word has no row")
        self.words = words
    }
}

/// Tests the links of a leaf.
///
/// A link is stored as key + 1; 0 means null.
enum LinkKernels {
    /// The number of rows from which testing all rows of a cluster costs less.
    private static let denseFrom = 124

    /// Returns the bit of a key; 0 for keys outside of the words, including the one that represents a null link.
    @inline(__always)
    private static func bit(_ key: Int64, _ words: UnsafeBufferPointer<UInt64>) -> UInt64 {
        // because: there are three words or more.
        let base = words.baseAddress.unsafelyUnwrapped
        let index = min(UInt64(bitPattern: key), UInt64(words.count &- 1) &<< 6)
        return base[Int(truncatingIfNeeded: index &>> 6)] &>> (index & 63) & 1
    }

    @inline(__always)
    static func rows<T: FixedWidthInteger & UnsignedInteger>(
        of leaf: Leaf, _: T.Type, _ words: UnsafeBufferPointer<UInt64>, _ among: ClusterBits
    ) -> ClusterBits {
        let payload = leaf.payload
        let lowest = leaf.minimum &- 1
        @inline(__always)
        func bit(_ row: Int) -> UInt64 {
            let offset = payload.loadUnaligned(
                fromByteOffset: row &* MemoryLayout<T>.size, as: T.self)
            return Self.bit(lowest &+ Int64(truncatingIfNeeded: offset), words)
        }
        if among.rowCount < denseFrom { return among.keeping(bit) }
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { flags in
            // because: the allocation is not empty.
            let out = flags.baseAddress.unsafelyUnwrapped
            var row = 0
            while row < Cluster.rows {
                out.storeBytes(
                    of: UInt8(truncatingIfNeeded: bit(row)), toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return IntKernels.bits(UnsafeRawPointer(out)) & among
        }
    }

    static func anyRows(
        of leaf: Leaf, _ words: UnsafeBufferPointer<UInt64>, _ among: ClusterBits
    ) -> ClusterBits {
        among.keeping { bit(leaf.int($0) &- 1, words) }
    }
}
