import DataFormats
import ObjectStore

/// Fills link collections of a class from the table that holds their elements.
struct SQLiteJoinReader {
    private let importer: Importer
    private let table: SQLiteLayout.Table
    private let join: SQLiteLayout.Join
    private let rows: SQLiteStatement
    private let cell = SQLiteCell(dates: nil, isExport: true)

    init(
        _ importer: Importer, _ table: SQLiteLayout.Table, _ join: SQLiteLayout.Join,
        _ database: SQLiteDatabase
    ) throws {
        self.importer = importer
        self.table = table
        self.join = join
        rows = try database.prepare(
            "SELECT \"owner\", \(SQLiteDatabase.quoted(join.placeColumn)), \"target\" "
                + "FROM \(SQLiteDatabase.quoted(join.name)) ORDER BY 1, 2")
    }

    /// Sets one collection after another: all rows of an owner are adjacent.
    func read() throws {
        var number = 0
        var owner: Value?
        var places: [String] = []
        var targets: [Value] = []
        var first = 1
        func flush() throws {
            guard let owner else { return }
            try set(owner, places, targets, RowPlace(table: join.name, line: first))
            places.removeAll(keepingCapacity: true)
            targets.removeAll(keepingCapacity: true)
        }
        while try rows.step() {
            number += 1
            let next = try key(0, of: table.classSchema)
            if next != owner {
                try flush()
                owner = next
                first = number
            }
            if join.property.isMap { places.append(try cell.text(rows, 1)) }
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
    private func record(_ owner: Value, _ places: [String], _ targets: [Value]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("$class")
        json.string(table.classSchema.name)
        json.key(table.classSchema.primaryKey?.name ?? "$key")
        write(owner, to: &json)
        json.key(join.property.name)
        if join.property.isMap { json.beginObject() } else { json.beginArray() }
        for (index, target) in targets.enumerated() {
            if join.property.isMap { json.key(places[index]) }
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
        _ owner: Value, _ places: [String], _ targets: [Value], _ place: RowPlace
    ) throws {
        let schema = importer.store.view.schema
        let ownerClass = try schema.require(table.classSchema.name)
        let targetClass = try schema.require(join.target.name)
        try importer.complete(place) {
            record(owner, places, targets)
        } _: {
            let links = try targets.map { target -> Value in
                if target == .null { return .null }
                if targetClass.primaryKey == nil, case .int(let number) = target {
                    return try importer.link(toNumber: number, of: targetClass, place)
                }
                return try importer.link(to: target, of: targetClass, place)
            }
            let value: Value =
                join.property.isMap
                ? .dictionary(Dictionary(zip(places, links), uniquingKeysWith: { $1 }))
                : .list(links)
            guard let object = try importer.find(owner, of: ownerClass) else {
                throw FormatError("there is no \(ownerClass.name) \(owner.summary)")
            }
            try importer.store.update(object, [join.property.name: value])
        }
    }
}
