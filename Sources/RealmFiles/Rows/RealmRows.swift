/// A group of rows of a class in a pass: up to 256 rows, or up to 1,000 rows in formats below 10.
///
/// Valid only during the call that receives them. Values are read by row and by the index of the property in
/// ``RealmClass/properties``.
package final class RealmRows {
    /// The class.
    package let realmClass: RealmClass
    /// The number of rows.
    package private(set) var count = 0
    private var keys: [Int64] = []
    private var firstKey: Int64 = 0
    private let file: RealmFile
    private let reader: NodeReader
    private var columns: [Column?]
    private let cells: PlainCells
    /// The index of the first cell of each column; -1 for columns without cells.
    private let starts: [Int]
    private var backlinkColumns: [Column] = []

    /// A column of the rows.
    private enum Column {
        /// The leaf of a column in a cluster.
        case cluster(LeafValues)
        /// The addresses of collections in a cluster.
        case collections(LeafValues)
        /// A column of formats below 10.
        case old(OldColumn)
        /// A column that cannot be read.
        case lost
    }

    init(
        _ file: RealmFile, reader: NodeReader, of realmClass: RealmClass, properties: [Int]?,
        backlinks: Bool
    ) {
        self.file = file
        self.reader = reader
        self.realmClass = realmClass
        columns = Array(repeating: nil, count: realmClass.properties.count)
        let assigned = Self.assignCells(
            realmClass, properties ?? Array(realmClass.properties.indices),
            rows: realmClass.isOld ? NodeReader.maximumLeafCount : Cluster.maximumCount)
        starts = assigned.starts
        cells = PlainCells(count: assigned.count)
        guard !realmClass.isOld else { return }
        for index in properties ?? Array(realmClass.properties.indices) {
            let property = realmClass.properties[index]
            if property.collection != nil {
                columns[index] = .collections(
                    LeafValues(ElementForm(.table, isNullable: false), reader, file.indexes))
            } else {
                columns[index] = .cluster(
                    LeafValues(
                        ElementForm(property, inCollection: false), reader, file.indexes))
            }
        }
        if backlinks {
            backlinkColumns = realmClass.backlinks.map { _ in
                .cluster(LeafValues(ElementForm(.table, isNullable: false), reader, file.indexes))
            }
        }
    }

    // MARK: - Values

    /// Returns the key of a row's object.
    package func key(_ row: Int) -> Int64 {
        keys.isEmpty ? firstKey &+ Int64(row) : keys[row]
    }

    /// Returns the row with an object key; nil if none of these rows has it.
    package func row(withKey key: Int64) -> Int? {
        if keys.isEmpty {
            let (row, overflow) = key.subtractingReportingOverflow(firstKey)
            return !overflow && row >= 0 && row < Int64(count) ? Int(row) : nil
        }
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < count && keys[low] == key ? low : nil
    }

    /// Returns the value of a property.
    ///
    /// Throws `damaged`; while rescuing, such a value is null and counted as lost.
    package func value(_ row: Int, _ property: Int) throws -> RealmValue {
        do {
            switch columns[property] {
            case .cluster(let leaf): return try leaf.value(row)
            case .collections(let leaf):
                if leaf.isLost { return .null }
                return try CollectionReader(reader, file.indexes)
                    .value(leaf.numbers[row], realmClass.properties[property])
            case .old(let column): return try column.value(row)
            case .lost, nil: return .null
            }
        } catch {
            try file.tolerate(
                error,
                "\(realmClass.name).\(realmClass.properties[property].name), object \(key(row))")
            file.recordLost(values: 1, objects: 0)
            return .null
        }
    }

    /// Returns the keys of the objects that link to a row's object through the backlinks with this index.
    package func origins(_ row: Int, _ index: Int) throws -> [Int64] {
        let value: Int64
        switch backlinkColumns[index] {
        case .cluster(let leaf):
            if leaf.isLost { return [] }
            value = leaf.numbers[row]
        case .old(let column): value = column.number(row)
        default: return []
        }
        if value == 0 { return [] }
        if value & 1 == 1 { return [Node.untagged(value)] }
        var found: [Int64] = []
        let leaf = LeafValues(ElementForm(.table, isNullable: false), reader, [:])
        try reader.forEachLeaf(value) { node in
            // Before format 24 a leaf can have any length; the number of its elements is used.
            try leaf.decode(node, atMost: node.count)
            found += leaf.numbers.prefix(leaf.count)
            return leaf.count
        }
        return found
    }

    // MARK: - Values without copies

    /// Returns whether the value of a property is null; not for collections and mixed values.
    @inline(__always)
    package func isNull(_ row: Int, _ property: Int) -> Bool {
        let start = starts[property]
        if start >= 0 { return cells.isNull(start + row) }
        return plainLeaf(property).map { $0.isNull($1 + row) } ?? false
    }

    /// Returns the integer of a row in a column of type int, bool (0 and 1) or link (object keys), or the bit pattern
    /// of a number.
    ///
    /// The result is undefined for null, and 0 for other columns.
    @inline(__always)
    package func int(_ row: Int, _ property: Int) -> Int64 {
        let start = starts[property]
        if start >= 0 { return cells.number(start + row) }
        return plainLeaf(property).map { $0.isLost ? 0 : $0.numbers[$1 + row] } ?? 0
    }

    /// Calls `body` with the bytes of a text or byte string that is in one part; returns false, without calling it, for
    /// others.
    @inline(__always)
    package func withBytes(
        _ row: Int, _ property: Int, _ body: (RawSpan) throws -> Void
    ) throws -> Bool {
        let start = starts[property]
        guard start >= 0 else { return false }
        let piece = cells.piece(start + row)
        guard piece.length >= 0 else { return false }
        try reader.bytes.view(piece.start, piece.length).withSpan(body)
        return true
    }

    /// Returns the leaf of a column without cells, and the index of the first row in it.
    private func plainLeaf(_ property: Int) -> (LeafValues, Int)? {
        let found = realmClass.properties[property]
        guard found.collection == nil, found.type != .mixed, found.type != .string,
            found.type != .binary, found.type != .table
        else { return nil }
        switch columns[property] {
        case .cluster(let leaf): return (leaf, 0)
        case .old(let column): return column.plain.map { ($0.values, $0.offset) }
        default: return nil
        }
    }

    /// The maximum number of columns with cells; other columns are read by ``value(_:_:)``.
    private static let maximumCellColumns = 2048

    /// Copies the plain values of a column into its cells.
    private func keep(_ leaf: LeafValues, _ offset: Int, _ property: Int) {
        let start = starts[property]
        guard start >= 0 else { return }
        leaf.copy(offset..<offset + count, to: cells, at: start)
    }

    /// Assigns cells to the columns of plain values; returns the number of cells and the first cell of each column.
    private static func assignCells(
        _ realmClass: RealmClass, _ properties: [Int], rows: Int
    ) -> (count: Int, starts: [Int]) {
        var starts = Array(repeating: -1, count: realmClass.properties.count)
        var next = 0
        for index in properties.prefix(maximumCellColumns) {
            let property = realmClass.properties[index]
            guard property.collection == nil, property.type != .mixed, property.type != .table
            else {
                continue
            }
            starts[index] = next
            next += rows
        }
        return (next, starts)
    }

    // MARK: - Filling

    /// Decodes the rows of a cluster.
    func fill(_ cluster: Cluster) throws {
        count = cluster.keys.count
        keys = cluster.keys
        for index in columns.indices {
            switch columns[index] {
            case .cluster(let leaf), .collections(let leaf):
                do {
                    try decode(leaf, cluster, realmClass.properties[index].storage.position)
                } catch {
                    try file.tolerate(
                        error, "\(realmClass.name).\(realmClass.properties[index].name)")
                    file.recordLost(values: count, objects: 0)
                    leaf.decodeNothing(count: count)
                }
                keep(leaf, 0, index)
            default: break
            }
        }
        for (index, column) in backlinkColumns.enumerated() {
            guard case .cluster(let leaf) = column else { continue }
            do {
                try decode(leaf, cluster, realmClass.backlinks[index].position)
            } catch {
                try file.tolerate(error, "backlinks of \(realmClass.name)")
                leaf.decodeNothing(count: count)
            }
        }
    }

    private func decode(_ leaf: LeafValues, _ cluster: Cluster, _ position: Int) throws {
        let node = try reader.node(cluster.leaf(position))
        try leaf.decode(node, atMost: Cluster.maximumCount)
        try RealmFileError.require(leaf.count == count, "\(count) rows have \(leaf.count) values")
    }

    /// Passes the rows of an old table to the body, in groups, each of which is in a single leaf of every column.
    func readOld(_ properties: [Int]?, backlinks: Bool, _ body: (RealmRows) throws -> Void) throws {
        let node = try reader.references(realmClass.rows)
        func column(_ property: RealmProperty) throws -> OldColumn {
            try RealmFileError.require(
                property.storage.position < node.count,
                "\(node.count) columns are too few for the description of the table")
            return try OldColumn(property, node.int(property.storage.position), reader)
        }
        var active: [(column: OldColumn, index: Int)] = []
        for index in properties ?? Array(realmClass.properties.indices) {
            do {
                let opened = try column(realmClass.properties[index])
                columns[index] = .old(opened)
                active.append((opened, index))
            } catch {
                try file.tolerate(
                    error, "\(realmClass.name).\(realmClass.properties[index].name)")
                file.recordLost(values: realmClass.count, objects: 0)
                lose(index)
            }
        }
        if backlinks {
            for link in realmClass.backlinks {
                let property = RealmProperty(
                    name: "", type: .table, isNullable: false, collection: nil, target: nil,
                    index: nil, hasIntegerKeys: false, columns: [],
                    storage: ColumnStorage(position: link.position, code: 14, isOld: true))
                let opened = try column(property)
                // The indexes of backlinks follow those of the properties.
                active.append((opened, columns.count + backlinkColumns.count))
                backlinkColumns.append(.old(opened))
            }
        }
        if active.isEmpty { return try handOverCount(body) }
        while true {
            var rows = Int.max
            var isAtEnd = true
            for (position, (column, index)) in active.enumerated().reversed() {
                do {
                    let remaining = try column.remaining()
                    if remaining > 0 { isAtEnd = false }
                    rows = min(rows, remaining)
                } catch {
                    // The number of rows in an unreadable leaf is unknown, so the column ends here.
                    try file.tolerate(error, "\(realmClass.name), column \(index)")
                    file.recordLost(values: 1, objects: 0)
                    lose(index)
                    active.remove(at: position)
                }
            }
            guard rows > 0, rows < Int.max else {
                if !isAtEnd, !active.isEmpty {
                    try file.tolerate(
                        RealmFileError.damaged("the columns have different lengths"),
                        realmClass.name)
                }
                return
            }
            count = rows
            for (column, index) in active where index < columns.count {
                if let plain = column.plain { keep(plain.values, plain.offset, index) }
            }
            try body(self)
            firstKey += Int64(rows)
            for (column, _) in active { column.advance(rows) }
            reader.bytes.trim()
        }
    }

    /// Makes all remaining values of a column null.
    private func lose(_ index: Int) {
        guard index < columns.count else {
            backlinkColumns[index - columns.count] = .lost
            return
        }
        columns[index] = .lost
        let start = starts[index]
        guard start >= 0 else { return }
        cells.setNull(start..<start + NodeReader.maximumLeafCount)
    }

    /// Passes groups of rows to the body if no column was requested.
    private func handOverCount(_ body: (RealmRows) throws -> Void) throws {
        var left = realmClass.count
        try RealmFileError.require(
            left <= reader.bytes.count * 128, "\(left) rows are more than the file can hold")
        while left > 0 {
            count = min(left, NodeReader.maximumLeafCount)
            try body(self)
            firstKey += Int64(count)
            left -= count
        }
    }
}

/// Iterates over the leaves of a B+tree that contains a column of a table of formats 2 to 9.
final class LeafCursor {
    let values: LeafValues
    /// The index in ``values`` of the next row.
    private(set) var offset = 0
    private let leaves: [Int64]
    private var next = 0

    init(_ root: Int64, _ form: ElementForm, _ reader: NodeReader) throws {
        values = LeafValues(form, reader, [:])
        leaves = try reader.leaves(root)
    }

    /// Returns the number of rows left in the current leaf, which is decoded if necessary; 0 at the end.
    func remaining() throws -> Int {
        while offset >= values.count, next < leaves.count {
            let reader = values.reader
            next += 1
            offset = 0
            try values.decode(
                try reader.node(leaves[next - 1]), atMost: NodeReader.maximumLeafCount)
        }
        return values.count - offset
    }

    /// Skips a number of rows.
    func advance(_ count: Int) { offset += count }
}
