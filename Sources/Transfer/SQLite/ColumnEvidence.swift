import DataFormats
import ObjectStore

/// Infers the type of a property from the declared type of a column and its values.
///
/// SQLite accepts any value in any column, so only both together determine the type.
struct ColumnEvidence {
    /// The type for a column without values, by the declared type according to SQLite's rules (section 3.1 of its
    /// documentation "Datatypes"), with additional types that SQLite does not have.
    private let declared: PropertyType
    private let dates: SQLiteDates?
    private var kinds: Set<SQLiteStatement.Kind> = []
    private var lastKind: SQLiteStatement.Kind?
    /// Whether all values so far match the declared type, which is one of those that SQLite does not have.
    private var isAsDeclared: Bool
    /// The numbers of integers in a date column: those that must be milliseconds, and all others except 0.
    private var milliseconds = 0
    private var seconds = 0
    /// Whether doubles represent all integers exactly.
    private var areIntsExact = true

    init(declared: String, dates: SQLiteDates?) {
        self.declared = Self.type(declared.uppercased())
        self.dates = dates
        isAsDeclared = [.bool, .date, .uuid, .decimal].contains(self.declared)
    }

    private static func type(_ declared: String) -> PropertyType {
        func has(_ words: String...) -> Bool { words.contains { declared.contains($0) } }
        if has("BOOL") { return .bool }
        if has("DATE", "TIMESTAMP") { return .date }
        if has("UUID", "GUID") { return .uuid }
        if has("DECIMAL") { return .decimal }
        if has("INT") { return .int }
        if has("CHAR", "CLOB", "TEXT") { return .string }
        return declared.isEmpty || has("BLOB") ? .mixed : .double
    }

    /// Adds a value.
    mutating func add(_ row: SQLiteStatement, _ column: Int) {
        let kind = row.kind(column)
        if kind != lastKind { kinds.insert(kind) }
        lastKind = kind
        if kind == .int {
            let number = row.int(column)
            if Int64(exactly: Double(number)) != number { areIntsExact = false }
            if SQLiteDates.looksLikeMilliseconds(number) {
                milliseconds += 1
            } else if number != 0 {
                seconds += 1
            }
        }
        if isAsDeclared, kind != .null { isAsDeclared = matches(row, column, kind) }
    }

    private func matches(
        _ row: SQLiteStatement, _ column: Int, _ kind: SQLiteStatement.Kind
    ) -> Bool {
        switch (kind, declared) {
        case (.int, .bool): row.int(column) == 0 || row.int(column) == 1
        case (.int, .date): (dates ?? .seconds).moment(row.int(column)) != nil
        case (.real, .date): (dates ?? .julian).moment(row.double(column)) != nil
        case (.int, .decimal), (.real, .decimal): true
        case (.text, .date), (.text, .uuid), (.text, .decimal):
            row.text(column).flatMap { ValueText.value($0, as: declared) } != nil
        case (.blob, .uuid): row.bytes(column).count == 16
        default: false
        }
    }

    var hasNulls: Bool { kinds.contains(.null) }

    /// Whether the column holds dates in milliseconds since 1970, if the options do not specify how to read them.
    var holdsMilliseconds: Bool {
        type == .date && dates == nil && milliseconds > 0 && seconds == 0 && !kinds.contains(.real)
    }

    /// The type of a property that can store all these values.
    var type: PropertyType {
        if isAsDeclared { return declared }
        switch kinds.subtracting([.null]) {
        case []: return declared
        case [.int]: return .int
        case [.real]: return .double
        case [.int, .real]: return areIntsExact ? .double : .mixed
        case [.text]: return .string
        case [.blob]: return .data
        default: return .mixed
        }
    }
}
