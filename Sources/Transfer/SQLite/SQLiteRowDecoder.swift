import DataFormats
import ObjectStore

/// Decodes the rows of a table into values of a class.
struct SQLiteRowDecoder {
    private let importer: Importer
    private let cell: SQLiteCell
    private let classSchema: ClassSchema
    private let columns: [FieldTable.Field]
    private let typePositions: [Int: Int]
    private let milliseconds: Set<Int>

    /// Creates a decoder; `typePositions` are columns with the types of mixed values, `milliseconds` are columns of
    /// dates.
    init(
        _ importer: Importer, cell: SQLiteCell, classSchema: ClassSchema,
        columns: [FieldTable.Field], typePositions: [Int: Int], milliseconds: Set<Int>
    ) {
        self.typePositions = typePositions
        self.milliseconds = milliseconds
        self.importer = importer
        self.cell = cell
        self.classSchema = classSchema
        self.columns = columns
    }

    /// Returns the values of the statement's row, whose first column is not a property.
    func row(_ statement: SQLiteStatement, _ location: RowLocation) throws -> DecodedRow {
        var row = DecodedRow(classSchema)
        for (index, column) in columns.enumerated() {
            guard case .property(let position) = column else { continue }
            let property = classSchema.properties[position]
            if let type = typePositions[index], statement.kind(type) != .null {
                row.values[position] = try JSONField.value(
                    try cell.text(statement, index + 1), of: property, in: classSchema,
                    importer: importer, at: location, container: "SQLite columns")
                continue
            }
            row.values[position] = try value(
                statement, column: index + 1, of: property, at: location,
                cell: milliseconds.contains(index)
                    ? SQLiteCell(dates: .milliseconds, isExport: cell.isExport) : cell)
        }
        return row
    }

    private func value(
        _ row: SQLiteStatement, column: Int, of property: Property, at location: RowLocation,
        cell: SQLiteCell
    ) throws -> Value? {
        let target = importer.store.view.schema.target(of: property)
        if row.kind(column) == .null { return property.isSingle ? .null : nil }
        if property.isSingle, property.type == .object, let target, !target.isEmbedded {
            if let value = try link(row, column: column, to: target, at: location) { return value }
        } else if property.isSingle, property.type == .date, row.kind(column) != .text {
            if let moment = try date(row, column: column, cell: cell) { return .date(moment) }
        } else if property.isSingle, property.type != .object,
            let value = try cell.value(row, column, as: property.type)
        {
            return value
        }
        let isJSON = !property.isSingle || property.type == .mixed || target?.isEmbedded == true
        if isJSON, row.kind(column) == .text {
            return try JSONField.value(
                try cell.text(row, column), of: property, in: classSchema, importer: importer,
                at: location, container: "SQLite columns")
        }
        let text = SQLiteCell.text(row, column)
        if property.isSingle, let text, let value = importer.rounded(text, as: property.type) {
            return value
        }
        throw importer.mismatch(
            property, classSchema, got: SQLiteCell.summary(row, column), text)
    }

    /// Returns the date of a number, and counts it as changed if it was rounded.
    private func date(
        _ row: SQLiteStatement, column: Int, cell: SQLiteCell
    ) throws -> Timestamp? {
        switch row.kind(column) {
        case .int:
            let number = row.int(column)
            guard cell.dates != nil || !SQLiteDates.looksLikeMilliseconds(number) else {
                throw FormatError(
                    "column '\(row.name(column))' holds \(number), which is beyond the year 5000 in "
                        + "seconds; add --dates milliseconds, or --dates seconds to keep it")
            }
            return SQLiteCell.moment(number, cell.dates)
        case .real:
            let number = row.double(column)
            guard let moment = SQLiteCell.moment(number, cell.dates) else { return nil }
            guard !(cell.dates ?? .julian).isExact(number, moment) else { return moment }
            guard importer.options.isRounding else {
                throw FormatError(
                    "column '\(row.name(column))' holds \(number), which is not a whole number of microseconds; "
                        + "add --round to use the nearest date")
            }
            importer.noteChange()
            return moment
        default: return nil
        }
    }

    private func link(
        _ row: SQLiteStatement, column: Int, to target: ClassSchema, at location: RowLocation
    ) throws -> Value? {
        guard let key = target.primaryKey else {
            guard row.kind(column) == .int else { return nil }
            return try importer.link(toNumber: row.int(column), of: target, location)
        }
        return try cell.value(row, column, as: key.type).map {
            try importer.link(to: $0, of: target, location)
        }
    }
}
