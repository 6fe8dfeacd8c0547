import DataFormats
import ObjectStore

/// Reads the table with the elements of a collection of links of an export.
struct SQLiteJoinReader {
    private let join: SQLiteLayout.Join
    private let owner: ClassSchema
    private let rows: SQLiteStatement
    private let cell = SQLiteCell(dates: nil, isExport: true)

    /// Begins to read a table; the rows of an owner are adjacent.
    init(
        _ join: SQLiteLayout.Join, of table: SQLiteLayout.Table, _ database: SQLiteDatabase
    ) throws {
        self.join = join
        owner = table.classSchema
        rows = try database.prepare(
            "SELECT \"owner\", \(SQLiteDatabase.quoted(join.positionColumn)), \"target\" "
                + "FROM \(SQLiteDatabase.quoted(join.name)) ORDER BY 1, 2")
    }

    /// Returns the next row; nil at the end.
    func next() throws -> LinkCollectionReader.Element? {
        guard try rows.step() else { return nil }
        return (
            try key(0, of: owner), join.property.isMap ? try cell.text(rows, 1) : nil,
            try key(2, of: join.target)
        )
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
}
