import DataFormats
import ObjectStore

/// Fills the lists, sets or maps of links of a class from the table that holds their elements.
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

    /// Sets one collection after the other: all rows of an owner stand together.
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
                    + "\(SQLiteCell.summary(rows, column)), which is no \(type.rawValue)")
        }
        return value
    }

    private func set(
        _ owner: Value, _ places: [String], _ targets: [Value], _ place: RowPlace
    ) throws {
        let schema = importer.store.view.schema
        let ownerClass = try schema.require(table.classSchema.name)
        let targetClass = try schema.require(join.target.name)
        try importer.complete(place) {
            Array(("\(owner.summary): " + targets.map(\.summary).joined(separator: ", ")).utf8)
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
