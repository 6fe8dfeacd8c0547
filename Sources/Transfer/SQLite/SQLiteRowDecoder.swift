import DataFormats
import ObjectStore

/// Makes values of a class of the rows of a table.
struct SQLiteRowDecoder {
    private let importer: Importer
    private let cell: SQLiteCell
    private let classSchema: ClassSchema
    private let columns: [FieldTable.Field]

    init(
        _ importer: Importer, _ cell: SQLiteCell, _ classSchema: ClassSchema,
        _ columns: [FieldTable.Field]
    ) {
        self.importer = importer
        self.cell = cell
        self.classSchema = classSchema
        self.columns = columns
    }

    /// The values of the statement's row, whose first column is no property.
    func row(_ statement: SQLiteStatement, _ place: RowPlace) throws -> DecodedRow {
        var row = DecodedRow(classSchema)
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            row.values[position] = try value(
                statement, index + 1, classSchema.properties[position], place)
        }
        return row
    }

    private func value(
        _ row: SQLiteStatement, _ column: Int, _ property: Property, _ place: RowPlace
    ) throws -> Value? {
        let target = importer.store.view.schema.target(of: property)
        if row.kind(column) == .null { return property.isSingle ? .null : nil }
        if property.isSingle, property.type == .object, let target, !target.isEmbedded {
            if let value = try link(row, column, target, place) { return value }
        } else if property.isSingle, property.type != .object,
            let value = try cell.value(row, column, as: property.type)
        {
            return value
        }
        let isJSON = !property.isSingle || property.type == .mixed || target?.isEmbedded == true
        if isJSON, row.kind(column) == .text {
            return try JSONField.value(
                try cell.text(row, column), property, classSchema, importer, place,
                container: "SQLite columns")
        }
        throw StoreError(
            .typeMismatch,
            "'\(classSchema.name).\(property.name)' expects \(property.typeName), got "
                + SQLiteCell.summary(row, column))
    }

    private func link(
        _ row: SQLiteStatement, _ column: Int, _ target: ClassSchema, _ place: RowPlace
    ) throws -> Value? {
        guard let key = target.primaryKey else {
            guard row.kind(column) == .int else { return nil }
            return try importer.link(toNumber: row.int(column), of: target, place)
        }
        return try cell.value(row, column, as: key.type).map {
            try importer.link(to: $0, of: target, place)
        }
    }
}
