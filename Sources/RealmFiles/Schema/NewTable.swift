/// A table of formats 10 to 24, whose rows are in clusters.
struct NewTable {
    /// Returns the type of a type code.
    static func type(_ code: Int) -> RealmType? {
        switch code {
        case 0: .int
        case 1: .bool
        case 2, 3: .string
        case 4: .binary
        case 5: .table
        case 6: .mixed
        case 7, 8: .timestamp
        case 9: .float
        case 10: .double
        case 11: .decimal
        case 12, 13, 16: .link
        case 15: .objectID
        case 17: .uuid
        default: nil
        }
    }

    /// Flags of columns.
    enum Attribute {
        static let indexed: Int64 = 1
        static let nullable: Int64 = 16
        static let list: Int64 = 32
        static let dictionary: Int64 = 64
        static let set: Int64 = 128
        static let fullText: Int64 = 256
    }

    static let maximumColumns = 65_536
    private static let backlink = 14

    let name: String
    let key: Int64
    private let top: Node
    private let reference: Int64
    private let index: Int

    /// Opens a table.
    init(_ reader: NodeReader, _ name: String, reference: Int64, tableIndex: Int, index: Int)
        throws
    {
        self.name = name
        self.reference = reference
        self.index = index
        top = try reader.references(reference, atLeast: 5)
        try RealmFileError.require(top.count <= 32, "table '\(name)' has \(top.count) parts")
        let key = top.slot(3)
        self.key = key & 1 == 1 ? Node.untagged(key) & 0x7FFF_FFFF : Int64(tableIndex)
    }

    /// The class that replaces a table that cannot be read.
    var emptyClass: RealmClass {
        RealmClass(index: index, name: name, address: reference)
    }

    /// Returns the class of the table; `indexes` maps table keys to the indexes of classes.
    func makeClass(
        _ reader: NodeReader, _ indexes: [Int64: Int], _ tolerate: (any Error) throws -> Void
    ) throws -> RealmClass {
        let spec = try reader.references(top.int(0), atLeast: 6)
        let limit = Self.maximumColumns
        let types = try reader.integers(spec.int(0), atMost: limit)
        let attributes = try reader.integers(spec.int(2), atMost: limit)
        let columnKeys = try reader.integers(spec.int(5), atMost: limit)
        try RealmFileError.require(
            attributes.count >= types.count && columnKeys.count >= types.count,
            "table '\(name)' has \(types.count) columns, \(attributes.count) attributes and "
                + "\(columnKeys.count) column keys")
        let names = try Self.names(reader, spec.int(1))
        let enumerations =
            spec.slot(4) == 0
            ? nil : try reader.integers(spec.slot(4), atMost: limit)
        func list(_ slot: Int) throws -> Node? {
            let reference = top.slot(slot)
            guard reference != 0, reference & 1 == 0 else { return nil }
            return try reader.integers(reference, atMost: limit)
        }
        let searchIndexes = try list(4)
        let oppositeTables = try list(7)
        let oppositeColumns = try list(8)

        var properties: [RealmProperty] = []
        var keys: [Int64] = []
        var backlinks: [RealmBacklinks] = []
        for column in 0..<types.count {
            let code = Int(types.int(column) & 0xFFFF)
            let columnKey = columnKeys.int(column)
            let leaf = Int(columnKey & 0xFFFF)
            let keyCode = Int(columnKey >> 16 & 0x3F)
            let target = (oppositeTables?.slot(leaf)).map { indexes[$0] } ?? nil
            do {
                try RealmFileError.require(
                    keyCode == code || (code, keyCode) == (13, 12),
                    "column \(column) of '\(name)' has type \(code), and \(keyCode) in its key")
                if code == Self.backlink {
                    guard let origin = target else {
                        throw RealmFileError.damaged("backlinks to '\(name)' come from no table")
                    }
                    backlinks.append(
                        RealmBacklinks(
                            origin: origin, property: nil, position: leaf,
                            originColumn: oppositeColumns?.slot(leaf) ?? -1))
                    continue
                }
                let storage = ColumnStorage(
                    position: leaf, code: code, enumeration: enumerations?.slot(column) ?? 0)
                try RealmFileError.require(
                    column < names.count, "column \(column) of '\(name)' has no name")
                properties.append(
                    try property(
                        named: names[column], storage: storage, attributes: attributes.int(column),
                        target: target, keyType: types.int(column) >> 16 & 0xFFFF,
                        hasIndex: searchIndexes?.slot(leaf) ?? 0 != 0))
                keys.append(columnKey)
            } catch {
                try tolerate(error)
            }
        }
        let flags = top.tagged(12)
        let primary = top.slot(11)
        let tombstones = top.slot(13)
        var missing = 0
        if tombstones != 0, tombstones & 1 == 0 {
            do {
                try reader.forEachCluster(tombstones) { missing += $0.keys.count }
            } catch {
                try tolerate(error)
            }
        }
        let rows = top.int(2)
        var count = 0
        do {
            count = try reader.rowCount(rows)
        } catch {
            try tolerate(error)
        }
        return RealmClass(
            index: index, name: name,
            kind: flags & 3 == 1 ? .embedded : flags & 3 == 2 ? .asymmetric : .object,
            properties: properties,
            primaryKey: primary & 1 == 1 ? keys.firstIndex(of: Node.untagged(primary)) : nil,
            count: count, tombstones: missing, backlinks: backlinks, isOld: false, rows: rows,
            address: reference, columnKeys: keys)
    }

    private func property(
        named propertyName: String, storage: ColumnStorage, attributes: Int64, target: Int?,
        keyType: Int64, hasIndex: Bool
    ) throws -> RealmProperty {
        guard let type = Self.type(storage.code), type != .table, storage.code != 3,
            storage.code != 7
        else {
            throw RealmFileError.damaged(
                "'\(propertyName)' of '\(name)' has the unknown type \(storage.code)")
        }
        var collection: RealmCollection?
        let marks = attributes & (Attribute.list | Attribute.set | Attribute.dictionary)
        switch marks {
        case 0: collection = storage.code == 13 ? .list : nil
        case Attribute.list: collection = .list
        case Attribute.set: collection = .set
        case Attribute.dictionary: collection = .dictionary
        default:
            throw RealmFileError.damaged(
                "'\(propertyName)' of '\(name)' has several kinds of collections")
        }
        if type == .link, target == nil, storage.code != 16 {
            throw RealmFileError.damaged(
                "'\(propertyName)' of '\(name)' links to a table that the file does not have")
        }
        let isNullable =
            type == .link
            ? collection == nil || collection == .dictionary
            : attributes & Attribute.nullable != 0
        return RealmProperty(
            name: propertyName, type: type, isNullable: isNullable, collection: collection,
            target: type == .link ? target : nil,
            index: hasIndex
                ? attributes & Attribute.fullText != 0 ? .fullText : .general : nil,
            hasIntegerKeys: collection == .dictionary && keyType == 0, columns: [], storage: storage
        )
    }

    /// Returns the names of columns or tables; invalid UTF-8 is replaced.
    static func names(
        _ reader: NodeReader, _ reference: Int64, atMost limit: Int = maximumColumns
    ) throws -> [String] {
        let leaf = LeafValues(ElementForm(.string, isNullable: false), reader, [:])
        try leaf.decode(try reader.node(reference), atMost: limit)
        return try (0..<leaf.count).map { index in
            switch try leaf.value(index) {
            case .string(let text): text
            case .malformedString(let bytes): String(decoding: bytes, as: UTF8.self)
            default: ""
            }
        }
    }
}
