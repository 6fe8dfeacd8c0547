/// The tables of formats 2 to 9, whose columns contain values by row number.
struct OldTables {
    /// The name of the only column of a subtable that represents a list of values.
    static let listColumn = "!ARRAY_VALUE"

    private let reader: NodeReader
    private let names: [String]
    private let tables: [(index: Int, reference: Int64)]
    private let tolerate: (any Error) throws -> Void
    /// The indexes of classes by the index of the table in the file.
    private let indexes: [Int: Int]

    init(
        _ reader: NodeReader, names: [String], tables: [(index: Int, reference: Int64)],
        tolerate: @escaping (any Error) throws -> Void
    ) {
        self.reader = reader
        self.names = names
        self.tables = tables
        self.tolerate = tolerate
        indexes = Dictionary(
            tables.enumerated().map { ($1.index, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the classes of the tables and adds them.
    func read(into classes: inout [RealmClass]) throws {
        for (index, table) in tables.enumerated() {
            do {
                classes.append(try makeClass(index, names[table.index], table.reference))
            } catch let error as RealmFileError where error.kind == .unfinishedUpgrade {
                throw error
            } catch {
                try tolerate(
                    (error as? RealmFileError)?.at("table '\(names[table.index])'") ?? error)
                classes.append(
                    RealmClass(
                        index: index, name: names[table.index], isOld: true,
                        address: table.reference))
            }
        }
    }

    private func makeClass(_ index: Int, _ name: String, _ reference: Int64) throws -> RealmClass {
        let top = try reader.references(reference, atLeast: 2)
        guard top.count == 2 else {
            throw RealmFileError(
                .unfinishedUpgrade,
                "Realm was interrupted while it converted table '\(name)' to format 10; read a backup "
                    + "from before the conversion")
        }
        var layout = Layout()
        try readSpec(top.int(0), depth: 0, into: &layout)
        var count = 0
        do {
            count = try rowCount(layout, top.int(1))
        } catch {
            try tolerate((error as? RealmFileError)?.at("table '\(name)'") ?? error)
        }
        return RealmClass(
            index: index, name: name, properties: layout.properties, count: count,
            backlinks: layout.backlinks, isOld: true, rows: top.int(1), address: reference,
            columnKeys: layout.columns)
    }

    /// Returns the columns in the description of a subtable.
    func subtable(_ reference: Int64) throws -> [RealmProperty] {
        var layout = Layout()
        try readSpec(reference, depth: 0, into: &layout)
        return layout.properties
    }

    private struct Layout {
        var properties: [RealmProperty] = []
        /// The position of each property among all columns.
        var columns: [Int64] = []
        var backlinks: [RealmBacklinks] = []
    }

    private func readSpec(_ reference: Int64, depth: Int, into layout: inout Layout) throws {
        try RealmFileError.require(depth < 8, "subtables are nested too deeply")
        let spec = try reader.references(reference, atLeast: 3)
        let limit = NewTable.maximumColumns
        let types = try reader.integers(spec.int(0), atMost: limit)
        let names = try NewTable.names(reader, spec.int(1))
        let attributes = try reader.integers(spec.int(2), atMost: limit)
        try RealmFileError.require(
            attributes.count >= types.count,
            "\(types.count) columns have \(attributes.count) attributes")
        func list(_ slot: Int) throws -> Node? {
            spec.slot(slot) == 0
                ? nil : try reader.integers(spec.slot(slot), atMost: limit * 2)
        }
        let subspecs = try list(3)
        let enumerations = try list(4)
        var nextSubspec = 0
        var nextEnumeration = 0
        func subspec() throws -> Int64 {
            guard let subspecs, nextSubspec < subspecs.count else {
                throw RealmFileError.damaged("a column lacks the description of its target")
            }
            nextSubspec += 1
            return subspecs.int(nextSubspec - 1)
        }
        func table() throws -> Int {
            let value = try subspec()
            guard value & 1 == 1, let index = indexes[Int(clamping: Node.untagged(value))] else {
                throw RealmFileError.damaged(
                    "a column links to a table that the file does not have")
            }
            return index
        }
        var position = 0
        for column in 0..<types.count {
            let code = Int(types.int(column))
            let flags = attributes.int(column)
            var storage = ColumnStorage(position: position, code: code, isOld: true)
            position += flags & NewTable.Attribute.indexed != 0 ? 2 : 1
            if code == 14 {
                let origin = try table()
                let originColumn = try subspec()
                layout.backlinks.append(
                    RealmBacklinks(
                        origin: origin, property: nil, position: storage.position,
                        originColumn: Node.untagged(originColumn)))
                continue
            }
            guard let type = NewTable.type(code), code <= 13, code != 11 else {
                throw RealmFileError.damaged("column \(column) has the unknown type \(code)")
            }
            var target: Int?
            var columns: [RealmProperty] = []
            if code == 12 || code == 13 { target = try table() }
            if code == 5 {
                var nested = Layout()
                try readSpec(try subspec(), depth: depth + 1, into: &nested)
                columns = nested.properties
            }
            if code == 3 {
                guard let enumerations, nextEnumeration < enumerations.count else {
                    throw RealmFileError.damaged("column \(column) lacks its list of texts")
                }
                storage.enumeration = enumerations.int(nextEnumeration)
                nextEnumeration += 1
            }
            // SDKs stored lists of values as subtables of one column with a reserved name.
            let element =
                columns.count == 1 && columns[0].name == Self.listColumn ? columns[0] : nil
            layout.columns.append(Int64(column))
            layout.properties.append(
                RealmProperty(
                    name: column < names.count ? names[column] : "", type: element?.type ?? type,
                    isNullable: element?.isNullable
                        ?? (code == 12
                            || code != 13 && flags & NewTable.Attribute.nullable != 0),
                    collection: code == 13 || code == 5 ? .list : nil, target: target,
                    index: flags & NewTable.Attribute.indexed != 0 ? .general : nil,
                    hasIntegerKeys: false, columns: columns, storage: storage))
        }
    }

    /// Returns the number of rows, which is the length of any column.
    private func rowCount(_ layout: Layout, _ reference: Int64) throws -> Int {
        let columns = try reader.references(reference)
        let position =
            layout.properties.first?.storage.position ?? layout.backlinks.first?.position
        guard let position else { return 0 }
        try RealmFileError.require(
            position < columns.count,
            "\(columns.count) columns are too few for the description of the table")
        let code = layout.properties.first?.storage.code ?? 14
        return try OldColumn.count(
            reader, columns.int(position), code,
            isNullable: layout.properties.first?.isNullable ?? false)
    }
}
