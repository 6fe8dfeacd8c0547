import DataFormats
import ObjectStore
import PostgresConnections
import Transfer

/// The types and the notation of PostgreSQL.
struct PostgresDialect: RelationalDialect {
    /// The schema of the database with the tables.
    let schemaName: String

    let name = "PostgreSQL"
    // PostgreSQL truncates longer names.
    let nameLimit: Int? = 63
    let reservedTables: [String] = []
    let hasArrays = true
    let hasMixedColumns = false
    let hasTypeColumns = false
    let hasInlineKeys = false
    let joinsKeys = true
    let normalizesJSON = true
    let jsonType = "jsonb"

    func columnType(_ type: PropertyType) -> String { Self.type(type).name }

    /// Returns the name of a type, and its object identifier (OID) in arrays.
    static func type(_ type: PropertyType) -> (name: String, identifier: UInt32) {
        switch type {
        case .bool: ("boolean", 16)
        case .int: ("bigint", 20)
        case .float: ("real", 700)
        case .double: ("double precision", 701)
        case .string: ("text", 25)
        case .data: ("bytea", 17)
        case .date: ("timestamp with time zone", 1184)
        case .fixed(.uuid): ("uuid", 2950)
        case .fixed: ("text", 25)
        case .decimal: ("numeric", 1700)
        case .mixed, .object, .backlinks: ("jsonb", 3802)
        }
    }

    func path(_ table: String) -> String {
        "\(SQLText.quoted(schemaName)).\(SQLText.quoted(table))"
    }
    func folded(_ name: String) -> String { name }
    func permitted(_ name: String) -> String { name }

    func selected(_ column: String, as type: PropertyType?, isArray: Bool) -> String {
        let type = type ?? .string
        let isText = type == .decimal || type == .mixed
        return "\(column)::\(columnType(isText ? .string : type))\(isArray ? "[]" : "")"
    }

    /// The dates whose text has a year of four digits.
    private static let plainDates =
        Timestamp(
            microseconds: -62_135_596_800_000_000)..<Timestamp(
            microseconds: 253_402_300_800_000_000)

    func literal(_ value: Value, of property: Property) -> String? {
        switch (property.type, value) {
        case (.int, .int(let number)), (.decimal, .int(let number)): return "(\(number))"
        case (.double, .int(let number)), (.float, .int(let number)):
            return Double(exactly: number).map { "'\($0)'::double precision" }
        case (.double, .double(let number)) where number.isFinite:
            return "'\(number)'::double precision"
        case (.float, .double(let number)):
            return literal(.float(Float(number)), of: property)
        case (.float, .float(let number)) where number.isFinite:
            return "'\(Double(number))'::double precision"
        case (.decimal, .decimal(let number)) where number.isFinite: return "(\(number))"
        case (.bool, .bool(let flag)): return flag ? "true" : "false"
        case (.date, .date(let moment)) where Self.plainDates.contains(moment):
            return "'\(moment)'::\(columnType(.date))"
        case (.string, .string), (.fixed, .fixed):
            guard let text = ValueText.text(value), !text.utf8.contains(0) else { return nil }
            return "\(SQLText.literal(text))::\(columnType(property.type))"
        default: return nil
        }
    }
}

/// Dates in the binary form of PostgreSQL: microseconds since 2000.
enum PostgresMoment {
    private static let epoch: Int64 = 946_684_800_000_000
    private static let first: Int64 = -211_813_488_000_000_000
    private static let end: Int64 = 9_223_371_331_200_000_000

    /// Returns the number for a date; nil outside of PostgreSQL's range, 4713 BC to 294276 AD.
    static func stored(_ moment: Timestamp) -> Int64? {
        let (number, overflow) = moment.microseconds.subtractingReportingOverflow(epoch)
        return !overflow && (first..<end).contains(number) ? number : nil
    }

    /// Returns the date of a number of days since 2000; nil as below.
    ///
    /// The days of the type `date` can be beyond the range of every type with a time.
    static func moment(days: Int32) -> Timestamp? {
        let (number, overflow) = Int64(days).multipliedReportingOverflow(by: 86_400_000_000)
        return overflow ? nil : moment(number)
    }

    /// Returns the date of a number; nil for `infinity` and `-infinity`, and outside of the store's range.
    static func moment(_ number: Int64) -> Timestamp? {
        guard number != .max, number != .min else { return nil }
        let (microseconds, overflow) = number.addingReportingOverflow(epoch)
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }
}

/// Writes the rows of a table with `COPY`.
final class PostgresRowWriter: RelationalRowWriter {
    private let copy: PostgresCopyWriter
    private let columnCount: Int

    init(_ server: PostgresConnection, _ path: String, _ columns: [String]) throws {
        copy = try server.copyIn(
            "COPY \(path) (\(SQLText.list(columns))) FROM STDIN (FORMAT binary)")
        columnCount = columns.count
    }

    func beginRow() { copy.beginRow(columns: columnCount) }
    func endRow() throws { try copy.endRow() }
    func finish() throws { try copy.finish() }

    func write(_ value: Value, _ property: Property?) throws {
        let name = property?.name ?? ""
        switch value {
        case .bool(let flag): copy.bool(flag)
        case .int(let number): copy.int(number)
        case .float(let number): copy.float(number)
        case .double(let number): copy.double(number)
        case .string(let text):
            guard !text.utf8.contains(0) else { throw Self.zeroByte(name) }
            copy.text(text)
        case .data(let bytes): copy.bytes(bytes)
        case .date(let moment):
            guard let number = PostgresMoment.stored(moment) else {
                throw FormatError(
                    "'\(name)' is \(moment), which PostgreSQL cannot store: its dates range "
                        + "from 4713 BC to 294276 AD")
            }
            copy.int(number)
        case .fixed(let value) where value.type == .uuid: copy.bytes(value.bytes)
        case .fixed(let value): copy.text(value.description)
        case .decimal(let number):
            guard let numeric = PostgresNumeric(number.description) else {
                throw FormatError(
                    "'\(name)' is \(number), which is beyond the range of PostgreSQL's numeric"
                )
            }
            copy.numeric(numeric)
        case .list(let elements):
            try copy.array(
                of: PostgresDialect.type(property?.type ?? .string).identifier,
                count: elements.count, hasNull: elements.contains(.null)
            ) { try write(elements[$0], property) }
        case .null, .object, .dictionary: copy.null()
        }
    }

    func json(_ text: [UInt8], _ property: Property) throws {
        guard !Self.containsZero(text) else { throw Self.zeroByte(property.name) }
        copy.json(text)
    }

    private static func zeroByte(_ name: String) -> FormatError {
        FormatError(
            "'\(name)' contains a zero byte, which PostgreSQL cannot store in text; remove it, or "
                + "make the property data")
    }

    /// Returns whether a JSON text contains the escape sequence of a zero byte.
    private static func containsZero(_ json: [UInt8]) -> Bool {
        var isEscaped = false
        for (index, byte) in json.enumerated() {
            if isEscaped {
                isEscaped = false
                if byte == UInt8(ascii: "u"),
                    json.dropFirst(index + 1).prefix(4).allSatisfy({ $0 == 0x30 })
                {
                    return true
                }
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            }
        }
        return false
    }
}

/// Reads the rows of a `COPY`, whose columns have a type each.
final class PostgresRowReader: RelationalRowReader {
    private let rows: PostgresCopyReader

    init(_ rows: PostgresCopyReader) { self.rows = rows }

    func next() throws -> Bool { try rows.next() }
    func isNull(_ index: Int) -> Bool { rows.isNull(index) }
    func int(_ index: Int) -> Int64 { rows.int(index) }
    func bytes(_ index: Int) -> [UInt8] { rows.bytes(index) }

    func value(
        _ index: Int, _ column: RelationalPlan.Column, for type: PropertyType
    ) throws -> Value {
        if isNull(index) { return .null }
        guard column.isArray else { return try single(rows.bytes(index), column) }
        guard let elements = rows.elements(index) else {
            throw FormatError(
                "column '\(column.name)' holds an array of several dimensions; select one dimension in "
                    + "a view, and import the view with --table")
        }
        return .list(try elements.map { try $0.map { try single($0, column) } ?? .null })
    }

    private func single(_ bytes: [UInt8], _ column: RelationalPlan.Column) throws -> Value {
        var number: UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch column.type ?? .string {
        case .bool: return .bool(bytes.first == 1)
        case .int: return .int(Int64(bitPattern: number))
        case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: number)))
        case .double: return .double(Double(bitPattern: number))
        case .data: return .data(bytes)
        case .fixed(.uuid): return FixedValue(.uuid, bytes: bytes).map(Value.fixed) ?? .null
        case .date:
            let moment =
                bytes.count == 4
                ? PostgresMoment.moment(days: Int32(truncatingIfNeeded: number))
                : PostgresMoment.moment(Int64(bitPattern: number))
            guard let moment else {
                throw FormatError(
                    "column '\(column.name)' holds infinity or a date after the year 294247; leave the column out with "
                        + "--map \(column.name)=, or select another value in a view")
            }
            return .date(moment)
        case .string, .fixed, .decimal, .mixed, .object, .backlinks:
            return .string(String(decoding: bytes, as: UTF8.self))
        }
    }

    func isJSON(_ text: String, _ index: Int?, _ column: RelationalPlan.Column) -> Bool {
        column.type == .mixed
    }

    func pass(
        _ index: Int, _ column: RelationalPlan.Column, as type: PropertyType, _ position: Int,
        to inserter: ObjectInserter
    ) throws -> Bool {
        switch type {
        case .int: inserter.set(position, int: rows.int(index))
        case .double: inserter.set(position, double: rows.double(index))
        case .bool: inserter.set(position, bool: rows.bool(index))
        case .string: return rows.withBytes(index) { inserter.set(position, utf8: $0) }
        default: inserter.set(position, try value(index, column, for: type))
        }
        return true
    }
}
