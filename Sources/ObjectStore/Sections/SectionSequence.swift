import ColumnStorage

/// The sections of an observed query: their keys in order, each with the number of its rows.
///
/// The rules, which define the order, are passed as an argument, because they may be recreated. Sections are stored in
/// chunks, with two trees of counts over the chunks: one of sections and one of rows. Finding a section by its key or
/// by the index of a row, and changing a section, takes logarithmic time and a scan of one chunk. A copy shares all
/// unchanged chunks.
struct SectionSequence {
    typealias Section = (key: Scalar, count: Int)

    private static let chunkLimit = 256
    private var chunks: [[Section]] = []
    private var sections = FenwickTree()
    private var rows = FenwickTree()

    /// The number of sections.
    var count: Int { sections.total }

    init() {}

    /// Creates a sequence of sections that are already in order.
    init(inOrder all: [Section]) {
        let size = Self.chunkLimit / 2
        chunks = stride(from: 0, to: all.count, by: size).map {
            Array(all[$0..<min($0 + size, all.count)])
        }
        countAgain()
    }

    /// Returns the position of a section; nil if no section has the key.
    func position(of key: Scalar, by rules: SectionRules) -> Int? {
        let (chunk, offset, isThere) = find(key, by: rules)
        return isThere ? sections.sum(before: chunk) + offset : nil
    }

    /// Returns the section of a row in the sequence of all rows, and the row's position in it; nil past the last row.
    func section(ofRow row: Int) -> (position: Int, key: Scalar, row: Int)? {
        guard row < rows.total else { return nil }
        var (chunk, left) = rows.locate(row)
        var offset = 0
        while left >= chunks[chunk][offset].count {
            left -= chunks[chunk][offset].count
            offset += 1
        }
        return (sections.sum(before: chunk) + offset, chunks[chunk][offset].key, left)
    }

    /// Adds a row to a section, and creates the section with its first row.
    mutating func add(_ key: Scalar, by rules: SectionRules) {
        let (chunk, offset, isThere) = find(key, by: rules)
        if isThere {
            chunks[chunk][offset].count += 1
            rows.add(1, to: chunk)
        } else {
            insert(key, at: chunk, offset)
        }
    }

    /// Removes a row from a section, and removes the section with its last row.
    mutating func remove(_ key: Scalar, by rules: SectionRules) {
        let (chunk, offset, isThere) = find(key, by: rules)
        guard isThere else { return }
        rows.add(-1, to: chunk)
        chunks[chunk][offset].count -= 1
        if chunks[chunk][offset].count > 0 { return }
        chunks[chunk].remove(at: offset)
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
            countAgain()
        } else {
            sections.add(-1, to: chunk)
        }
    }

    private mutating func insert(_ key: Scalar, at chunk: Int, _ offset: Int) {
        guard !chunks.isEmpty else {
            self = SectionSequence(inOrder: [(key, 1)])
            return
        }
        // A section after all others is added to the last chunk.
        let isLast = chunk == chunks.count
        let chunk = isLast ? chunk - 1 : chunk
        chunks[chunk].insert((key, 1), at: isLast ? chunks[chunk].count : offset)
        if chunks[chunk].count <= Self.chunkLimit {
            sections.add(1, to: chunk)
            rows.add(1, to: chunk)
        } else {
            let half = chunks[chunk].count / 2
            let upper = Array(chunks[chunk][half...])
            chunks[chunk].removeSubrange(half...)
            chunks.insert(upper, at: chunk + 1)
            countAgain()
        }
    }

    private mutating func countAgain() {
        sections = FenwickTree(chunks.map(\.count))
        rows = FenwickTree(chunks.map { chunk in chunk.reduce(0) { $0 + $1.count } })
    }

    /// Returns the index of the first section that does not precede a key, and whether the section has that key.
    private func find(
        _ key: Scalar, by rules: SectionRules
    ) -> (chunk: Int, offset: Int, isThere: Bool) {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if rules.order(chunks[middle][chunks[middle].count - 1].key, key) < 0 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < chunks.count else { return (low, 0, false) }
        var first = 0
        var last = chunks[low].count
        while first < last {
            let middle = (first + last) / 2
            if rules.order(chunks[low][middle].key, key) < 0 {
                first = middle + 1
            } else {
                last = middle
            }
        }
        return (low, first, rules.order(chunks[low][first].key, key) == 0)
    }
}
