/// The values of one column of a table of formats 2 to 9, read in order.
final class OldColumn {
    private let property: RealmProperty
    private let reader: NodeReader
    /// The trees of the values; a single one except for dates and mixed values.
    private let cursors: [LeafCursor]
    private let mixed: OldMixed?

    /// Opens a column; `root` is its address.
    init(_ property: RealmProperty, _ root: Int64, _ reader: NodeReader) throws {
        self.property = property
        self.reader = reader
        let numbers = ElementForm(.table, isNullable: false)
        var seconds = ElementForm(.int, isNullable: true)
        seconds.isOld = true
        switch property.storage.code {
        case 5, 13, 14:
            cursors = [try LeafCursor(root, numbers, reader)]
            mixed = nil
        case 6:
            let node = try reader.references(root, atLeast: 2)
            cursors = [
                try LeafCursor(node.int(0), numbers, reader),
                try LeafCursor(node.int(1), numbers, reader),
            ]
            mixed = try OldMixed(node, reader)
        case 8:
            let node = try reader.references(root, atLeast: 2)
            cursors = [
                try LeafCursor(node.int(0), seconds, reader),
                try LeafCursor(node.int(1), numbers, reader),
            ]
            mixed = nil
        default:
            cursors = [
                try LeafCursor(root, ElementForm(property, inCollection: false), reader)
            ]
            mixed = nil
        }
    }

    /// Returns the number of rows that can be read before ``advance(_:)``; 0 at the end.
    func remaining() throws -> Int {
        var count = Int.max
        for cursor in cursors { count = min(count, try cursor.remaining()) }
        return count
    }

    /// Skips a number of rows.
    func advance(_ count: Int) {
        for cursor in cursors { cursor.advance(count) }
    }

    /// The only tree of a column of plain values; nil for other columns.
    var plain: LeafCursor? {
        switch property.storage.code {
        case 5, 6, 8, 13, 14: nil
        default: cursors[0]
        }
    }

    /// Returns the integer of a row in a column of addresses.
    func number(_ row: Int) -> Int64 { cursors[0].values.numbers[cursors[0].offset + row] }

    /// Returns the value of a row, counted from the current one.
    func value(_ row: Int) throws -> RealmValue {
        let first = cursors[0]
        let index = first.offset + row
        switch property.storage.code {
        case 5:
            return .list(
                try OldSubtable(reader).values(
                    first.values.numbers[index], property.columns, depth: 0))
        case 6:
            let second = cursors[1]
            return try mixed?.value(
                type: first.values.numbers[index], second.values.numbers[second.offset + row],
                depth: 0)
                ?? .null
        case 8:
            if first.values.isNull(index) { return .null }
            let second = cursors[1]
            return .timestamp(
                RealmTimestamp(
                    seconds: first.values.numbers[index],
                    nanoseconds: second.values.numbers[second.offset + row]))
        case 13:
            let reference = first.values.numbers[index]
            if reference == 0 { return .list([]) }
            return .list(
                try CollectionReader(reader, [:]).elements(
                    reference, ElementForm(property, inCollection: true), depth: 0))
        default: return try first.values.value(index)
        }
    }

    /// Returns the number of rows in the root of a column's tree.
    static func count(_ reader: NodeReader, _ root: Int64, _ code: Int, isNullable: Bool) throws
        -> Int
    {
        var root = root
        if code == 6 || code == 8 { root = try reader.references(root, atLeast: 2).int(0) }
        let node = try reader.node(root)
        if node.isInner { return Int(clamping: node.count > 0 ? node.tagged(node.count - 1) : 0) }
        switch code {
        case 2, 4:
            guard node.hasReferences, !node.hasContext else { return node.count }
            return try reader.integers(node.slot(0), atMost: NodeReader.maximumLeafCount).count
        case 8: return max(node.count - 1, 0)
        case 0, 1, 7: return max(node.count - (isNullable ? 1 : 0), 0)
        default: return node.count
        }
    }
}

/// Tables inside cells, which exist in formats 2 to 9.
struct OldSubtable {
    private static let maximumDepth = 16
    private let reader: NodeReader

    init(_ reader: NodeReader) { self.reader = reader }

    /// Returns the rows of a cell; a list of values if the subtable has one column without a name.
    ///
    /// `reference` is the address of the columns; 0 for an empty subtable.
    func values(_ reference: Int64, _ columns: [RealmProperty], depth: Int) throws -> [RealmValue] {
        if columns.count == 1, ["", OldTables.listColumn].contains(columns[0].name) {
            return try rows(reference, columns, depth: depth).map { $0[0] }
        }
        return try objects(reference, columns, depth: depth)
    }

    /// Returns the rows of a cell as objects with the names of their columns.
    func objects(_ reference: Int64, _ columns: [RealmProperty], depth: Int) throws -> [RealmValue]
    {
        try rows(reference, columns, depth: depth).map { values in
            .object(zip(columns, values).map { RealmEntry(key: .string($0.name), value: $1) })
        }
    }

    private func rows(
        _ reference: Int64, _ properties: [RealmProperty], depth: Int
    ) throws -> [[RealmValue]] {
        guard reference != 0 else { return [] }
        try RealmFileError.require(depth < Self.maximumDepth, "subtables are nested too deeply")
        let node = try reader.references(reference)
        let columns = try properties.map { property in
            try RealmFileError.require(
                property.storage.position < node.count,
                "a subtable lacks the column '\(property.name)'")
            return try OldColumn(property, node.int(property.storage.position), reader)
        }
        guard !columns.isEmpty else { return [] }
        var rows: [[RealmValue]] = []
        while true {
            let counts = try columns.map { try $0.remaining() }
            let count = counts.min() ?? 0
            guard count > 0 else {
                try RealmFileError.require(
                    counts.allSatisfy({ $0 == 0 }),
                    "the columns of a subtable have different lengths")
                return rows
            }
            for row in 0..<count { rows.append(try columns.map { try $0.value(row) }) }
            for column in columns { column.advance(count) }
        }
    }
}

/// Values of any type in formats 2 to 9: each has a type and a number, which may be an index into another column.
struct OldMixed {
    private let reader: NodeReader
    private var binaries: [LeafValues.Piece] = []
    private var moments: [RealmValue] = []

    init(_ node: Node, _ reader: NodeReader) throws {
        self.reader = reader
        if node.slot(2) != 0 {
            let leaf = StringLeaf(reader)
            var some: [LeafValues.Piece] = []
            var all: [LeafValues.Piece] = []
            try reader.forEachLeaf(node.int(2)) { node in
                try leaf.decode(
                    node, isText: false, atMost: NodeReader.maximumLeafCount, into: &some)
                all += some
                return some.count
            }
            binaries = all
        }
        guard node.slot(3) != 0 else { return }
        let property = RealmProperty(
            name: "", type: .timestamp, isNullable: true, collection: nil, target: nil, index: nil,
            hasIntegerKeys: false, columns: [],
            storage: ColumnStorage(position: 0, code: 8, isOld: true))
        let column = try OldColumn(property, node.int(3), reader)
        while case let count = try column.remaining(), count > 0 {
            for row in 0..<count { moments.append(try column.value(row)) }
            column.advance(count)
        }
    }

    /// Returns the value of a type and a number.
    func value(type: Int64, _ data: Int64, depth: Int) throws -> RealmValue {
        let number = UInt64(bitPattern: data) >> 1
        switch type {
        case 0: return .int(Int64(bitPattern: number))
        case 12: return .int(Int64(bitPattern: number | 1 << 63))
        case 1: return .bool(number != 0)
        case 2:
            var bytes = try binary(number)
            // A text ends with a zero byte.
            if bytes.last == 0 { bytes.removeLast() }
            return String(validating: bytes, as: UTF8.self).map(RealmValue.string)
                ?? .malformedString(bytes)
        case 4: return .binary(try binary(number))
        case 5:
            let top = try reader.references(data, atLeast: 2)
            let table = try OldTables(reader, names: [], tables: [], tolerate: { throw $0 })
                .subtable(top.int(0))
            return .list(
                try OldSubtable(reader).objects(top.int(1), table, depth: depth + 1))
        case 7:
            return .timestamp(RealmTimestamp(seconds: Int64(bitPattern: number), nanoseconds: 0))
        case 8:
            try RealmFileError.require(
                number < UInt64(moments.count),
                "a mixed value refers to date \(number), which is missing")
            return moments[Int(number)]
        case 9: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: number)))
        case 10: return .double(Double(bitPattern: number))
        case 11: return .double(Double(bitPattern: number | 1 << 63))
        default: throw RealmFileError.damaged("a mixed value has the unknown type \(type)")
        }
    }

    private func binary(_ index: UInt64) throws -> [UInt8] {
        try RealmFileError.require(
            index < UInt64(binaries.count),
            "a mixed value refers to bytes \(index), which are missing")
        let piece = binaries[Int(index)]
        return piece.length == LeafValues.Piece.null ? [] : try StringLeaf(reader).bytes(piece)
    }
}
