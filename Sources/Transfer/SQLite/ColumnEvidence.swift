import DataFormats
import ObjectStore

/// Infers the type of a property from the declared type of a column and its values.
///
/// SQLite accepts any value in any column, so only both together determine the type.
struct ColumnEvidence {
    /// The declared type according to SQLite's rules (section 3.1 of its documentation "Datatypes"), with additional
    /// types that SQLite does not have.
    private enum Wish { case int, text, anything, real, number, bool, date, uuid, decimal }

    private let wish: Wish
    private let dates: SQLiteDates?
    private(set) var nulls = 0
    private var ints = 0
    private var reals = 0
    private var texts = 0
    private var blobs = 0
    /// Whether all values so far match the declared type.
    private var isAsWished = true
    /// The numbers of integers in a date column: those that must be milliseconds, and all others except 0.
    private var milliseconds = 0
    private var seconds = 0
    /// Whether doubles represent all integers exactly.
    private var areIntsExact = true

    init(declared: String, dates: SQLiteDates?) {
        wish = Self.wish(declared.uppercased())
        self.dates = dates
    }

    private static func wish(_ type: String) -> Wish {
        func has(_ words: String...) -> Bool { words.contains { type.contains($0) } }
        if has("BOOL") { return .bool }
        if has("DATE", "TIMESTAMP") { return .date }
        if has("UUID", "GUID") { return .uuid }
        if has("DECIMAL") { return .decimal }
        if has("INT") { return .int }
        if has("CHAR", "CLOB", "TEXT") { return .text }
        if type.isEmpty || has("BLOB") { return .anything }
        return has("REAL", "FLOA", "DOUB") ? .real : .number
    }

    /// Adds a value.
    mutating func add(_ row: SQLiteStatement, _ column: Int) {
        switch row.kind(column) {
        case .null: nulls += 1
        case .int:
            ints += 1
            let value = row.int(column)
            if Int64(exactly: Double(value)) != value { areIntsExact = false }
            switch wish {
            case .bool where value != 0 && value != 1: isAsWished = false
            case .date:
                if SQLiteCell.moment(value, dates) == nil { isAsWished = false }
                if SQLiteDates.looksLikeMilliseconds(value) {
                    milliseconds += 1
                } else if value != 0 {
                    seconds += 1
                }
            case .uuid: isAsWished = false
            default: break
            }
        case .real:
            reals += 1
            switch wish {
            case .bool, .uuid: isAsWished = false
            case .date where SQLiteCell.moment(row.double(column), dates) == nil:
                isAsWished = false
            default: break
            }
        case .text:
            texts += 1
            switch wish {
            case .bool: isAsWished = false
            case .date: look(row, column, as: .date)
            case .uuid: look(row, column, as: .uuid)
            case .decimal: look(row, column, as: .decimal)
            default: break
            }
        case .blob:
            blobs += 1
            isAsWished = isAsWished && wish == .uuid && row.bytes(column).count == 16
        }
    }

    private mutating func look(_ row: SQLiteStatement, _ column: Int, as type: PropertyType) {
        guard isAsWished else { return }
        isAsWished = row.text(column).flatMap { ValueText.value($0, as: type) } != nil
    }

    /// Whether the column holds dates in milliseconds since 1970, if the options do not specify how to read them.
    var holdsMilliseconds: Bool {
        type == .date && dates == nil && milliseconds > 0 && seconds == 0 && reals == 0
    }

    /// The type of a property that can store all these values.
    var type: PropertyType {
        if isAsWished {
            switch wish {
            case .bool: return .bool
            case .date: return .date
            case .uuid: return .uuid
            case .decimal: return .decimal
            default: break
            }
        }
        switch (ints > 0 || reals > 0, texts > 0, blobs > 0) {
        case (true, false, false):
            return reals == 0 ? .int : areIntsExact ? .double : .mixed
        case (false, true, false): return .string
        case (false, false, true): return .data
        case (false, false, false): return typeWithoutValues
        default: return .mixed
        }
    }

    private var typeWithoutValues: PropertyType {
        switch wish {
        case .int: .int
        case .text: .string
        case .real, .number: .double
        case .anything: .mixed
        case .bool: .bool
        case .date: .date
        case .uuid: .uuid
        case .decimal: .decimal
        }
    }
}
