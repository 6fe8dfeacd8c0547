import DataFormats
import ObjectStore

/// Reads the table with the elements of a collection of links of an export.
struct PostgresJoinReader {
    private let join: PostgresLayout.Join
    private let rows: PostgresCopyReader
    private let ownerType: PostgresType
    private let targetType: PostgresType

    /// Begins to read a table; the rows of an owner are adjacent.
    init(
        _ join: PostgresLayout.Join, _ layout: PostgresLayout, _ server: PostgresConnection
    ) throws {
        self.join = join
        ownerType = PostgresLayout.keyType(of: join.owner)
        targetType = PostgresLayout.keyType(of: join.target)
        let position = PostgresConnection.quoted(join.positionColumn)
        rows = try server.copyOut(
            """
            COPY (SELECT "owner"::\(ownerType.readName), \(position)::text, "target"::\(targetType.readName) \
            FROM \(layout.path(join.name)) ORDER BY "owner", \(position)) TO STDOUT (FORMAT binary)
            """)
    }

    /// Returns the next row; nil at the end.
    func next() throws -> LinkCollectionReader.Element? {
        guard try rows.next() else { return nil }
        return (
            try key(0, ownerType, of: join.owner), join.property.isMap ? rows.text(1) : nil,
            rows.isNull(2) ? .null : try key(2, targetType, of: join.target)
        )
    }

    private func key(
        _ column: Int, _ type: PostgresType, of classSchema: ClassSchema
    ) throws -> Value {
        guard type == .text else {
            if type == .uuid, let identifier = UUIDValue(bytes: rows.bytes(column)) {
                return .uuid(identifier)
            }
            return .int(rows.int(column))
        }
        let keyType = classSchema.primaryKey?.type ?? .string
        guard let value = ValueText.value(rows.text(column), as: keyType) else {
            throw FormatError(
                "'\(join.name)' refers to \(classSchema.name) \"\(rows.text(column))\", which is not a "
                    + "valid \(keyType.rawValue)")
        }
        return value
    }
}
