import DataFormats
import ObjectStore

/// A type of columns that are written to PostgreSQL or read from it.
enum PostgresType {
    case bool, int, float, double, text, bytes, timestamp, uuid, numeric, json

    /// Creates the type for single values of a property type.
    init(_ type: PropertyType) {
        switch type {
        case .bool: self = .bool
        case .int: self = .int
        case .float: self = .float
        case .double: self = .double
        case .string, .objectID: self = .text
        case .data: self = .bytes
        case .date: self = .timestamp
        case .uuid: self = .uuid
        case .decimal: self = .numeric
        case .mixed, .object, .backlinks: self = .json
        }
    }

    /// The name in SQL.
    var name: String {
        switch self {
        case .bool: "boolean"
        case .int: "bigint"
        case .float: "real"
        case .double: "double precision"
        case .text: "text"
        case .bytes: "bytea"
        case .timestamp: "timestamp with time zone"
        case .uuid: "uuid"
        case .numeric: "numeric"
        case .json: "jsonb"
        }
    }

    /// The object identifier (OID) of the type in an array.
    var identifier: UInt32 {
        switch self {
        case .bool: 16
        case .bytes: 17
        case .int: 20
        case .text: 25
        case .float: 700
        case .double: 701
        case .timestamp: 1184
        case .numeric: 1700
        case .uuid: 2950
        case .json: 3802
        }
    }

    /// The name in SQL of the type that is selected for reading.
    var readName: String {
        switch self {
        case .numeric, .json: "text"
        default: name
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

    /// Returns the date of a number; nil for `infinity` and `-infinity`, and outside of the store's range.
    static func moment(_ number: Int64) -> Timestamp? {
        guard number != .max, number != .min else { return nil }
        let (microseconds, overflow) = number.addingReportingOverflow(epoch)
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }
}
