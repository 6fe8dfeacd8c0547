import DataFormats
import ObjectStore

/// A SQLite database that is imported.
final class SQLiteOrigin: RelationalOrigin {
    private(set) var dialect: any RelationalDialect = SQLiteDialect()
    let location = "the database"
    private let database: SQLiteDatabase
    private var dates: SQLiteDates?

    /// Opens a database.
    init(_ path: String, _ options: ImportOptions) throws {
        database = try SQLiteDatabase(reading: path)
        dates = options.dates
    }

    // MARK: Tables

    func tables() throws -> (tables: [RelationalTable], notes: [String]) {
        let list = try database.prepare(
            """
            SELECT name, type, wr FROM pragma_table_list
            WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """)
        var tables: [RelationalTable] = []
        var notes: [String] = []
        while try list.step() {
            guard let name = list.text(0) else { continue }
            switch list.text(1) {
            case "table": tables.append(try table(name, hasRowID: list.int(2) == 0))
            case "view": notes.append("the view '\(name)' is omitted")
            case "virtual": notes.append("the virtual table '\(name)' is omitted")
            default: break
            }
        }
        return (tables, notes)
    }

    private func table(_ name: String, hasRowID: Bool) throws -> RelationalTable {
        var table = RelationalTable(name: name, path: SQLText.quoted(name))
        func each(_ sql: String, _ body: (SQLiteStatement) -> Void) throws {
            let rows = try database.prepare(sql)
            rows.bind(0, name)
            while try rows.step() { body(rows) }
        }
        // Generated columns have values like other columns; other hidden columns have none.
        var keys: [(position: Int64, column: String)] = []
        try each("SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1")
        {
            let column = $0.text(0) ?? ""
            table.columns.append(
                RelationalTable.Column(
                    name: column, typeName: $0.text(1) ?? "", isRequired: $0.int(2) != 0))
            if $0.int(3) > 0 { keys.append(($0.int(3), column)) }
        }
        table.key = keys.sorted { $0.position < $1.position }.map(\.column)
        try each(
            """
            SELECT group_concat(coalesce(i.name, 'an expression'), ', ')
            FROM pragma_index_list(?) l, pragma_index_info(l.name) i
            WHERE l."unique" AND l.origin <> 'pk' GROUP BY l.name ORDER BY l.seq DESC
            """
        ) { table.uniqueColumns.append($0.text(0) ?? "") }
        try each(
            """
            SELECT max(i.name) FROM pragma_index_list(?) l, pragma_index_info(l.name) i
            WHERE l.partial = 0 AND l.origin <> 'pk' GROUP BY l.name HAVING count(*) = 1
            """
        ) { row in
            let index = table.columns.firstIndex { $0.name == row.text(0) }
            if let index { table.columns[index].isIndexed = true }
        }
        // A foreign key to a primary key can leave out its columns.
        var references: [Int64: (table: String, columns: [String], targets: [String])] = [:]
        try each(
            "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY seq"
        ) {
            var reference = references[$0.int(0)] ?? ($0.text(1) ?? "", [], [])
            reference.columns.append($0.text(2) ?? "")
            if $0.kind(3) != .null { reference.targets.append($0.text(3) ?? "") }
            references[$0.int(0)] = reference
        }
        table.foreignKeys = references.sorted { $0.key < $1.key }.map {
            RelationalTable.ForeignKey(
                name: nil, columns: $1.columns, target: $1.table, targetColumns: $1.targets)
        }
        let taken = Set(table.columns.map { $0.name.lowercased() })
        let rowID = ["_rowid_", "rowid", "oid"].first { !taken.contains($0) }
        table.rowID = hasRowID ? rowID.map(SQLText.quoted) : nil
        Self.joinTypeColumns(&table)
        return table
    }

    /// Connects the columns of mixed values with the columns of their types.
    private static func joinTypeColumns(_ table: inout RelationalTable) {
        let types = table.columns.filter { $0.typeName == RelationalTable.typeColumnType }
        let mixed = table.columns.indices.filter { table.columns[$0].typeName.isEmpty }
        for (index, type) in zip(mixed, types) { table.columns[index].typeColumn = type.name }
        let paired = Set(table.columns.compactMap(\.typeColumn))
        table.columns.removeAll { paired.contains($0.name) }
    }

    func exportedClasses(_ tables: [RelationalTable]) throws -> [ClassSchema]? {
        guard let table = tables.first(where: { $0.name == SQLiteDialect.metadata }),
            table.columnNames == ["name", "value"]
        else { return nil }
        let rows = try database.prepare("SELECT name, value FROM \(table.path)")
        var values: [String: String] = [:]
        while try rows.step() {
            if let name = rows.text(0), let value = rows.text(1) { values[name] = value }
        }
        guard let schema = values["schema"] else { return nil }
        let classes = try RelationalDescription.classes(
            schema, format: values["format"], known: ["1", "2"])
        dates = try dates ?? SQLiteDates(name: values["dates"] ?? "text")
        dialect = SQLiteDialect(hasTypeColumns: values["format"] != "1")
        return classes
    }

    func examine(_ table: inout RelationalTable) throws {
        var found = table.columns.map { ColumnEvidence(declared: $0.typeName, dates: dates) }
        let rows = try database.prepare(
            "SELECT \(SQLText.list(table.columns.map(\.name))) FROM \(table.path)")
        while try rows.step() {
            for column in found.indices { found[column].add(rows, column) }
        }
        for (index, evidence) in found.enumerated() {
            var column = table.columns[index]
            column.type = column.typeColumn == nil ? evidence.type : .mixed
            column.hasNulls = evidence.hasNulls
            column.isRequired =
                column.isRequired || table.key.contains(column.name) && !column.hasNulls
            column.isMilliseconds = evidence.holdsMilliseconds
            table.columns[index] = column
        }
    }

    // MARK: Rows

    func rowCount(_ tables: [String]) throws -> Double {
        try tables.reduce(0) { sum, table in
            let rows = try database.prepare("SELECT count(*) FROM \(dialect.path(table))")
            return sum + (try rows.step() ? Double(rows.int(0)) : 0)
        }
    }

    func rows(_ plan: RelationalPlan, _ importer: Importer) throws -> any RelationalRowReader {
        SQLiteRowReader(
            try database.prepare(plan.statement), importer, dates: dates,
            marksJSONInText: !dialect.hasTypeColumns)
    }
}

/// Reads the rows of a prepared statement, whose values have a type each.
private final class SQLiteRowReader: RelationalRowReader {
    private let row: SQLiteStatement
    private let importer: Importer
    /// The encoding of numbers in date properties.
    ///
    /// Nil for the convention of SQLite: integers are seconds since 1970, other numbers are Julian days.
    private let dates: SQLiteDates?
    /// Whether text in mixed columns that looks like JSON is JSON, as in the first format of exports.
    private let marksJSONInText: Bool

    init(
        _ row: SQLiteStatement, _ importer: Importer, dates: SQLiteDates?, marksJSONInText: Bool
    ) {
        self.row = row
        self.importer = importer
        self.dates = dates
        self.marksJSONInText = marksJSONInText
    }

    func next() throws -> Bool { try row.step() }
    func isNull(_ index: Int) -> Bool { row.kind(index) == .null }
    func int(_ index: Int) -> Int64 { row.int(index) }
    func bytes(_ index: Int) -> [UInt8] { row.bytes(index) }

    func value(
        _ index: Int, _ column: RelationalPlan.Column, for type: PropertyType
    ) throws -> Value {
        let kind = row.kind(index)
        if type == .date, kind == .int || kind == .real, let moment = try date(index, column) {
            return .date(moment)
        }
        switch kind {
        case .null: return .null
        case .int: return .int(row.int(index))
        case .real: return .double(row.double(index))
        case .blob: return .data(row.bytes(index))
        case .text:
            guard let text = row.text(index) else {
                throw FormatError("column '\(row.name(index))' holds text that is not UTF-8")
            }
            return .string(text)
        }
    }

    /// Returns the date of a number, and counts it as changed if it was rounded.
    private func date(_ index: Int, _ column: RelationalPlan.Column) throws -> Timestamp? {
        let dates = column.source.isMilliseconds ? .milliseconds : self.dates
        if row.kind(index) == .int {
            let number = row.int(index)
            guard dates != nil || !SQLiteDates.looksLikeMilliseconds(number) else {
                throw FormatError(
                    "column '\(row.name(index))' holds \(number), which is beyond the year 5000 in "
                        + "seconds; add --dates milliseconds, or --dates seconds to keep it")
            }
            return (dates ?? .seconds).moment(number)
        }
        let number = row.double(index)
        guard let moment = (dates ?? .julian).moment(number) else { return nil }
        guard !(dates ?? .julian).isExact(number, moment) else { return moment }
        guard importer.options.isRounding else {
            throw FormatError(
                "column '\(row.name(index))' holds \(number), which is not a whole number of microseconds; "
                    + "add --round to use the nearest date")
        }
        importer.changeCount += 1
        return moment
    }

    func isJSON(_ text: String, _ index: Int?, _ column: RelationalPlan.Column) -> Bool {
        if let index { return !isNull(index) }
        guard marksJSONInText, column.type == .mixed else { return false }
        switch text.utf8.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): return true
        default: return text == "true" || text == "false"
        }
    }
}

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

/// The encoding of dates in SQLite, which has no type for dates.
package enum SQLiteDates: String, CaseIterable, Sendable {
    /// Text in ISO 8601, such as `2026-11-21T10:00:00Z`.
    case text
    /// Seconds since 1970; integers if they are whole.
    case seconds
    /// Milliseconds since 1970; integers if they are whole.
    case milliseconds
    /// Julian days as numbers, with a precision of about a tenth of a millisecond.
    case julian

    /// Creates the encoding with this name.
    ///
    /// Throws `invalid_argument` with the known names.
    package init(name: String) throws {
        guard let way = Self(rawValue: name.lowercased()) else {
            let known = Self.allCases.map(\.rawValue)
            throw StoreError(
                .invalidArgument,
                "unknown date encoding '\(name)'\(NearestName.hint(for: name, among: known)); use "
                    + known.joined(separator: ", "))
        }
        self = way
    }

    private static let epochAsJulianDay = 2_440_587.5
    private static let microsecondsOfDay = 86_400_000_000.0

    /// Returns the date of a number; nil outside of the range of dates.
    func moment(_ number: Double) -> Timestamp? {
        switch self {
        case .text, .seconds: Timestamp(seconds: number)
        case .milliseconds: Timestamp(seconds: number / 1000)
        case .julian:
            Int64(
                exactly: ((number - Self.epochAsJulianDay) * Self.microsecondsOfDay).rounded()
            ).map(Timestamp.init(microseconds:))
        }
    }

    /// Returns the exact date of an integer.
    func moment(_ number: Int64) -> Timestamp? {
        let factor: Int64
        switch self {
        case .text, .seconds: factor = 1_000_000
        case .milliseconds: factor = 1000
        case .julian: return moment(Double(number))
        }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }

    /// Returns whether a number of seconds is so large that it must be milliseconds.
    ///
    /// As seconds it is after the year 5138; as milliseconds it is after March 1973.
    static func looksLikeMilliseconds(_ number: Int64) -> Bool {
        number.magnitude >= 100_000_000_000
    }

    /// Returns whether a date converts back to the original number.
    func isExact(_ number: Double, _ moment: Timestamp) -> Bool {
        switch stored(moment) {
        case .double(let stored): stored == number
        case .int(let stored): Double(stored) == number
        default: Self.seconds.isExact(number, moment)
        }
    }

    /// Returns the stored value of a date.
    func stored(_ moment: Timestamp) -> Value {
        let microseconds = moment.microseconds
        switch self {
        case .text: return .string(moment.description)
        case .seconds: return Self.quotient(microseconds, 1_000_000)
        case .milliseconds: return Self.quotient(microseconds, 1000)
        case .julian:
            let days = Double(microseconds) / Self.microsecondsOfDay
            return .double(days + Self.epochAsJulianDay)
        }
    }

    private static func quotient(_ number: Int64, _ divisor: Int64) -> Value {
        number % divisor == 0 ? .int(number / divisor) : .double(Double(number) / Double(divisor))
    }
}
