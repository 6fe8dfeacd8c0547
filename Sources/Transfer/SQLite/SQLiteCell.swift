import DataFormats
import ObjectStore

/// Converts single values of SQLite rows to values of properties.
struct SQLiteCell {
    /// The encoding of numbers in date properties.
    ///
    /// Nil for the convention of SQLite: integers are seconds since 1970, other numbers are Julian days.
    let dates: SQLiteDates?
    /// Whether text in mixed columns that looks like JSON is JSON, as in the first format of exports.
    let isExport: Bool

    /// Returns the value of a cell for a property with single values other than links; nil if the property cannot store
    /// it.
    func value(_ row: SQLiteStatement, _ column: Int, as type: PropertyType) throws -> Value? {
        switch (type, row.kind(column)) {
        case (_, .null): return .null
        case (.int, .int): return .int(row.int(column))
        case (.int, .real): return Int64(exactly: row.double(column)).map(Value.int)
        case (.double, .int): return Double(exactly: row.int(column)).map(Value.double)
        case (.double, .real): return .double(row.double(column))
        case (.float, .int): return Float(exactly: row.int(column)).map(Value.float)
        case (.float, .real): return Self.float(row.double(column)).map(Value.float)
        case (.bool, .int):
            let value = row.int(column)
            return value == 0 || value == 1 ? .bool(value == 1) : nil
        case (.date, .int): return Self.moment(row.int(column), dates).map(Value.date)
        case (.date, .real): return Self.moment(row.double(column), dates).map(Value.date)
        case (.decimal, .int): return .decimal(DecimalValue(row.int(column)))
        case (.decimal, .real): return DecimalValue("\(row.double(column))").map(Value.decimal)
        case (.data, .blob): return .data(row.bytes(column))
        case (.uuid, .blob): return UUIDValue(bytes: row.bytes(column)).map(Value.uuid)
        case (.objectID, .blob): return ObjectIDValue(bytes: row.bytes(column)).map(Value.objectID)
        case (.mixed, let kind): return try mixed(row, column, kind)
        case (_, .text): return ValueText.value(try text(row, column), as: type)
        default: return nil
        }
    }

    /// Returns the float that was converted to this double, or the float with the same digits.
    private static func float(_ number: Double) -> Float? {
        guard number.isFinite else { return Float(number) }
        if let float = Float(exactly: number) { return float }
        guard case .float(let float)? = ValueText.value(number.description, as: .float) else {
            return nil
        }
        return float
    }

    /// Returns the digits of a number, or a text; nil for other values.
    static func text(_ row: SQLiteStatement, _ column: Int) -> String? {
        switch row.kind(column) {
        case .int: String(row.int(column))
        case .real: row.double(column).description
        case .text: row.text(column)
        case .blob, .null: nil
        }
    }

    private func mixed(
        _ row: SQLiteStatement, _ column: Int, _ kind: SQLiteStatement.Kind
    ) throws -> Value? {
        switch kind {
        case .null: return .null
        case .int: return .int(row.int(column))
        case .real: return .double(row.double(column))
        case .blob: return .data(row.bytes(column))
        case .text:
            let text = try text(row, column)
            return isExport && Self.looksLikeJSON(text) ? nil : .string(text)
        }
    }

    /// Returns the text of a cell.
    func text(_ row: SQLiteStatement, _ column: Int) throws -> String {
        guard let text = row.text(column) else {
            throw FormatError("column '\(row.name(column))' holds text that is not UTF-8")
        }
        return text
    }

    /// Returns whether a text in a mixed column represents another value, or a text that looks like one.
    static func looksLikeJSON(_ text: String) -> Bool {
        switch text.utf8.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): true
        default: text == "true" || text == "false"
        }
    }

    /// Returns the date that an integer represents.
    static func moment(_ number: Int64, _ dates: SQLiteDates?) -> Timestamp? {
        (dates ?? .seconds).moment(number)
    }

    /// Returns the date that a number represents.
    static func moment(_ number: Double, _ dates: SQLiteDates?) -> Timestamp? {
        (dates ?? .julian).moment(number)
    }

    /// Writes a cell as JSON.
    static func write(_ row: SQLiteStatement, _ column: Int, to json: inout JSONWriter) {
        switch row.kind(column) {
        case .null: json.null()
        case .int: json.int(row.int(column))
        case .real: json.double(row.double(column))
        case .text: json.string(row.text(column) ?? "text that is not UTF-8")
        case .blob: json.string(Base64.encode(row.bytes(column)))
        }
    }

    /// Describes the content of a cell for messages.
    static func summary(_ row: SQLiteStatement, _ column: Int) -> String {
        switch row.kind(column) {
        case .null: "NULL"
        case .int: String(row.int(column))
        case .real: String(row.double(column))
        case .text: row.text(column).map { Value.string($0).summary } ?? "text that is not UTF-8"
        case .blob: "\(row.bytes(column).count) bytes"
        }
    }
}
