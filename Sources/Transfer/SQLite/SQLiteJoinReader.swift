import DataFormats
import ObjectStore

/// Fills link collections of a class from the table with their elements.
struct SQLiteJoinReader {
    private let importer: Importer
    private let table: SQLiteLayout.Table
    private let join: SQLiteLayout.Join
    private let owner: ClassSchema
    private let property: Property
    private let target: ClassSchema
    private let rows: SQLiteStatement
    private let cell = SQLiteCell(dates: nil, isExport: true)

    /// Creates a reader for the property at an index of a class of the store.
    ///
    /// Throws `type_mismatch` if the property is not a collection of links.
    init(
        _ importer: Importer, table: SQLiteLayout.Table, join: SQLiteLayout.Join,
        className: String, position: Int, database: SQLiteDatabase
    ) throws {
        self.importer = importer
        self.table = table
        self.join = join
        let schema = importer.store.view.schema
        owner = try schema.require(className)
        property = owner.properties[position]
        guard !property.isSingle, property.isMap == join.property.isMap,
            let target = schema.target(of: property)
        else {
            throw StoreError(
                .typeMismatch,
                "'\(className).\(property.name)' expects \(property.typeName), but the table '\(join.name)' holds "
                    + "\(join.property.typeName)")
        }
        self.target = target
        rows = try database.prepare(
            "SELECT \"owner\", \(SQLiteDatabase.quoted(join.positionColumn)), \"target\" "
                + "FROM \(SQLiteDatabase.quoted(join.name)) ORDER BY 1, 2")
    }

    /// Sets one collection after another: all rows of an owner are adjacent.
    func read() throws {
        var number = 0
        var current: Value?
        var positions: [String] = []
        var targets: [Value] = []
        var first = 1
        func flush() throws {
            guard let current else { return }
            try set(
                current, positions: positions, targets: targets,
                at: RowLocation(table: join.name, line: first))
            positions.removeAll(keepingCapacity: true)
            targets.removeAll(keepingCapacity: true)
        }
        while try rows.step() {
            number += 1
            let next = try key(0, of: table.classSchema)
            if next != current {
                try flush()
                current = next
                first = number
            }
            if join.property.isMap { positions.append(try cell.text(rows, 1)) }
            targets.append(try key(2, of: join.target))
        }
        try flush()
    }

    private func key(_ column: Int, of classSchema: ClassSchema) throws -> Value {
        let type = classSchema.primaryKey?.type ?? .int
        guard let value = try cell.value(rows, column, as: type) else {
            throw FormatError(
                "'\(join.name)' refers to \(classSchema.name) "
                    + "\(SQLiteCell.summary(rows, column)), which is not a valid \(type.rawValue)")
        }
        return value
    }

    /// Returns the owner and its links as a row of JSON Lines, which an import with upsert accepts.
    private func record(of key: Value, positions: [String], targets: [Value]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("$class")
        json.string(owner.name)
        json.key(owner.primaryKey?.name ?? "$key")
        write(key, to: &json)
        json.key(property.name)
        if join.property.isMap { json.beginObject() } else { json.beginArray() }
        for (index, target) in targets.enumerated() {
            if join.property.isMap { json.key(positions[index]) }
            guard join.target.primaryKey == nil, target != .null else {
                write(target, to: &json)
                continue
            }
            json.beginObject()
            json.key("$key")
            write(target, to: &json)
            json.endObject()
        }
        if join.property.isMap { json.endObject() } else { json.endArray() }
        json.endObject()
        return json.bytes
    }

    private func write(_ key: Value, to json: inout JSONWriter) {
        switch key {
        case .int(let number): json.int(number)
        case .null: json.null()
        default: json.string(ValueText.text(key) ?? key.summary)
        }
    }

    private func set(
        _ key: Value, positions: [String], targets: [Value], at location: RowLocation
    ) throws {
        try importer.complete(location) {
            record(of: key, positions: positions, targets: targets)
        } _: {
            let links = try targets.map { link -> Value in
                if link == .null { return .null }
                if target.primaryKey == nil, case .int(let number) = link {
                    return try importer.link(toNumber: number, of: target, location)
                }
                return try importer.link(to: link, of: target, location)
            }
            let value: Value =
                property.isMap
                ? .dictionary(Dictionary(zip(positions, links), uniquingKeysWith: { $1 }))
                : .list(links)
            guard let object = try importer.find(key, of: owner) else {
                throw FormatError("there is no \(owner.name) \(key.summary)")
            }
            try importer.store.update(object, [property.name: value])
        }
    }
}
