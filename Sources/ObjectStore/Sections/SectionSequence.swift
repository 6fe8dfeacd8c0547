import ColumnStorage

/// The sections of an observed query: their keys in order, each with the number of its rows.
///
/// The rules, which define the order, are passed as an argument, because they may be recreated. A second tree has the
/// number of rows in each chunk of sections. Finding a section by its key or by the index of a row, and changing a
/// section, takes logarithmic time and a scan of one chunk.
struct SectionSequence {
    typealias Section = (key: Scalar, count: Int)

    private var sections: ChunkedArray<Section>
    private var rows = FenwickTree()

    /// The number of sections.
    var count: Int { sections.count }

    init() { sections = ChunkedArray([]) }

    /// Creates a sequence of sections that are already in order.
    init(inOrder all: [Section]) {
        assert(all.allSatisfy { $0.count > 0 }, "each section has a row")
        sections = ChunkedArray(all)
        countRows()
    }

    /// Returns the position of a section; nil if no section has the key.
    func position(of key: Scalar, by rules: SectionRules) -> Int? {
        let (location, isThere) = find(key, by: rules)
        return isThere ? sections.position(of: location) : nil
    }

    /// Returns the section of a row in the sequence of all rows, and the row's position in it; nil past the last row.
    func section(ofRow row: Int) -> (position: Int, key: Scalar, row: Int)? {
        guard row < rows.total else { return nil }
        var (chunk, left) = rows.locate(row)
        var offset = 0
        while left >= sections.chunks[chunk][offset].count {
            left -= sections.chunks[chunk][offset].count
            offset += 1
        }
        return (sections.position(of: (chunk, offset)), sections.chunks[chunk][offset].key, left)
    }

    /// Adds a row to a section, and creates the section with its first row.
    mutating func add(_ key: Scalar, by rules: SectionRules) {
        let (location, isThere) = find(key, by: rules)
        if isThere {
            sections.change(at: location) { $0.count += 1 }
            rows.add(1, to: location.chunk)
        } else if let chunk = sections.insert((key, 1), at: location) {
            rows.add(1, to: chunk)
        } else {
            countRows()
        }
    }

    /// Removes a row from a section, and removes the section with its last row.
    mutating func remove(_ key: Scalar, by rules: SectionRules) {
        let (location, isThere) = find(key, by: rules)
        guard isThere else { return }
        rows.add(-1, to: location.chunk)
        sections.change(at: location) { $0.count -= 1 }
        if sections.chunks[location.chunk][location.offset].count > 0 { return }
        if sections.remove(at: location) == nil { countRows() }
    }

    private mutating func countRows() {
        rows = FenwickTree(sections.chunks.map { chunk in chunk.reduce(0) { $0 + $1.count } })
    }

    /// Returns the location of the first section that does not precede a key, and whether the section has that key.
    private func find(
        _ key: Scalar, by rules: SectionRules
    ) -> (location: ChunkedArray<Section>.Location, isThere: Bool) {
        assert(rows.bucketCount == sections.chunks.count, "the rows of each chunk are counted")
        let location = sections.partition { rules.order($0.key, key) < 0 }
        return (
            location, sections.element(at: location).map { rules.order($0.key, key) == 0 } ?? false
        )
    }
}

/// Counts the objects of each section, for one thread.
struct SectionCounter {
    private let rows: TableReader
    private let read: (ObjectKey) throws -> Scalar
    /// The column of whole numbers that determines the section; nil if it is not the only one.
    private let column: ColumnSource?

    init(_ rules: SectionRules, _ rows: TableReader, in view: StoreView) throws {
        self.rows = rows
        read = try rules.reader(in: view)
        let own = try rules.sortKeys[0].bound(to: view).ownColumn
        let isWhole = own.map { [.int, .date, .bool].contains($0.type) } ?? false
        column = rules.sortKeys.count == 1 && isWhole ? own : nil
    }

    /// Returns the number of objects in each section of some clusters.
    func counts(_ clusters: KeyClusters) throws -> [Scalar: Int] {
        var counts: [Scalar: Int] = [:]
        var numbers = NumberCounts()
        var values: [Int64] = []
        var nulls = 0
        let interruption = Interruption.current
        for (cluster, bits) in clusters {
            try interruption?.step(Cluster.rows)
            if let column {
                let present = try rows.matches(column.column, cluster, .notNull, among: bits)
                values.removeAll(keepingCapacity: true)
                try rows.gatherInts(column.column, cluster, among: present, into: &values)
                for value in values { numbers.add(value) }
                nulls += bits.rowCount - values.count
            } else {
                let first = Int64(cluster * Cluster.rows)
                try bits.forEachRow { row in
                    counts[try read(ObjectKey(rawValue: first + Int64(row))), default: 0] += 1
                }
            }
        }
        if nulls > 0 { counts[.null] = nulls }
        numbers.forEach { counts[column?.type == .bool ? .bool($0 != 0) : .int($0)] = $1 }
        return counts
    }
}

/// The number of occurrences of each number.
///
/// Numbers near the first one are counted in an array, which takes a tenth of the time of a dictionary.
private struct NumberCounts {
    private static let width = 1 << 12
    private var near: [Int] = []
    private var base: Int64 = 0
    private var far: [Int64: Int] = [:]

    @inline(__always)
    mutating func add(_ number: Int64) {
        if near.isEmpty {
            near = Array(repeating: 0, count: Self.width)
            base = max(number, .min + Int64(Self.width)) - Int64(Self.width / 2)
        }
        let index = UInt64(bitPattern: number &- base)
        if number >= base, index < UInt64(Self.width) {
            near[Int(index)] &+= 1
        } else {
            far[number, default: 0] += 1
        }
    }

    func forEach(_ body: (Int64, Int) -> Void) {
        for (index, count) in near.enumerated() where count > 0 {
            body(base &+ Int64(index), count)
        }
        for (number, count) in far { body(number, count) }
    }
}

extension Scalar {
    /// The section key of a mixed value; equal numbers of different types have the same key.
    var mixedSectionKey: Scalar { Scalar(mixed: value.inSimplestForm) }
}

extension Value {
    /// The value with each number as an int or a double if one equals it exactly, also inside lists and maps.
    fileprivate var inSimplestForm: Value {
        switch self {
        case .float(let number): return Value.double(Double(number)).inSimplestForm
        case .double(let number):
            if number.isNaN { return .double(.nan) }
            return Int64(exactly: number).map(Value.int) ?? self
        case .decimal(let number):
            if let whole = number.exactInt { return .int(whole) }
            let (double, isExact) = number.floorDouble
            return isExact ? .double(double) : self
        case .list(let elements): return .list(elements.map(\.inSimplestForm))
        case .dictionary(let entries): return .dictionary(entries.mapValues(\.inSimplestForm))
        default: return self
        }
    }
}
