import DataFormats
import ObjectStore

/// The rows of an opened file.
package protocol RowSource: AnyObject {
    /// Notes about data that was converted or omitted because a store has no equivalent.
    var notes: [String] { get }
    /// The completed fraction of the work, from 0 to 1; nil if it is unknown.
    var part: Double? { get }
    /// Returns the classes of the rows, from the description in the file or inferred from the rows, and the known
    /// classes.
    func classes(besides known: Schema) throws -> ClassInference.Result
    /// The fields of the rows that the options can map to properties, also as `table.column`; nil until the rows are read.
    var fields: [String]? { get }
    /// Returns the schema version in the file; nil if the file does not contain one.
    func schemaVersion() throws -> UInt64?
    /// Passes all rows to an importer.
    func read(into importer: Importer) throws
}

extension RowSource {
    var fields: [String]? { nil }
    package func schemaVersion() throws -> UInt64? { nil }
}

/// The rows of a file that is read sequentially.
final class TextSource: RowSource {
    private(set) var notes: [String] = []
    private let format: TransferFormat
    private let options: ImportOptions
    private let file: FileReader

    /// Opens the file.
    init(_ path: String, _ format: TransferFormat, _ options: ImportOptions) throws {
        self.format = format
        self.options = options
        file = try FileReader(path, encoding: options.encoding)
    }

    var part: Double? {
        file.size.flatMap { $0 > 0 ? Double(file.position) / Double($0) : nil }
    }

    func classes(besides known: Schema) throws -> ClassInference.Result {
        if let name = options.className, known.find(name) != nil, !makesLinkedClass(known) {
            return ClassInference.Result()
        }
        file.keepForRewinding()
        let result = try ClassInference.classes(in: file, format, options, besides: known)
        notes = result.notes
        try file.rewind()
        return result
    }

    /// Whether nested objects become objects of a new class.
    private func makesLinkedClass(_ known: Schema) -> Bool {
        options.links.values.contains { known.find($0) == nil }
    }

    func read(into importer: Importer) throws {
        guard format == .csv || format == .tsv else {
            return try TreeRows(file, format, options).read(into: importer)
        }
        let source = CSVSource(file)
        defer { notes = source.notes + notes }
        try source.read(into: importer)
    }
}

/// A row of a file, decoded into values of a class.
package struct DecodedRow {
    let classSchema: ClassSchema
    /// The values in schema order; nil for properties that the row does not have.
    var values: [Value?]
    /// The number that other rows of the file use to link to this row.
    var number: Int64?

    init(_ classSchema: ClassSchema) {
        self.classSchema = classSchema
        values = [Value?](repeating: nil, count: classSchema.properties.count)
    }

    var primaryKey: Value? {
        classSchema.properties.firstIndex(where: \.isPrimary).flatMap { values[$0] }
    }

    /// The values by name, without the primary key, which does not change.
    var valuesByName: ValueMap {
        assert(values.count == classSchema.properties.count, "each property has its value")
        var named: ValueMap = [:]
        for (property, value) in zip(classSchema.properties, values) where !property.isPrimary {
            named[property.name] = value
        }
        return named
    }
}

/// The location of a row in its file, for messages.
package struct RowLocation {
    /// The table in a database; nil for a file of lines.
    var table: String?
    /// The line in a file; for a database, the rowid of the row, or its number if it has no rowid.
    var line: Int

    package init(table: String? = nil, line: Int) {
        self.table = table
        self.line = line
    }

    /// The location as text: `line 3`, or `dogs, row 3`.
    var description: String { table.map { "\($0), row \(line)" } ?? "line \(line)" }

    /// Returns an error at this row.
    func fault(_ reason: String) -> FormatError {
        table == nil ? FormatError(line: line, reason) : FormatError("\(description): \(reason)")
    }

    /// Returns an error of this row with its location.
    func fault(_ error: any Error, _ locator: (any RowReader)?) -> FormatError {
        switch error {
        case let error as FormatError where error.line != nil: return error
        case let error as FormatError: return fault(error.reason)
        case let error as ValueFault:
            var placed = fault(error.underlying, locator)
            guard table == nil, placed.column == nil else { return placed }
            switch error.location {
            case .field(let number): placed.column = number
            case .offset(let offset):
                guard let location = locator?.location(offset) else { break }
                placed.line = location.line
                placed.column = location.column
            }
            return placed
        case let error as StoreError: return fault(error.message(for: .script))
        default: return fault("\(error)")
        }
    }
}

/// An error in one value of a row.
struct ValueFault: Error {
    enum Location {
        /// The number of the field in its record, starting at 1.
        case field(Int)
        /// The offset in the bytes of the row.
        case offset(Int)
    }

    let location: Location
    let underlying: any Error
}

/// Writes invalid records in the format of the input, so that a user can correct the file and import it.
///
/// The reasons are in a second file, `FILE.reasons.jsonl`: JSON Lines with the line (or table and row) and the reason.
final class RejectFile {
    /// The text around the records, which makes the file importable.
    struct Form {
        /// The text before the first record, such as the header of a CSV file.
        var head: [UInt8] = []
        /// The text between two records.
        var separator: [UInt8] = [0x0A]
        /// The text after the last record.
        var tail: [UInt8] = [0x0A]
        /// Whether to write the head and the tail even if there are no records.
        var isWhole = false
        /// Whether to replace line breaks in a record with spaces; JSON has line breaks only between values.
        var isOneLine = false

        /// Returns the form of CSV records with this header.
        static func csv(_ header: [UInt8]) -> Form {
            Form(head: header.isEmpty ? [] : header + [0x0A])
        }

        /// Returns the form of JSON rows: a list in a `.json` file, otherwise JSON Lines.
        static func rows(_ path: String) -> Form {
            guard (try? TransferFormat(path: path)) == .json else { return Form(isOneLine: true) }
            return list("[", "]")
        }

        /// The form of the features of a GeoJSON collection.
        static var features: Form {
            list("{\"type\":\"FeatureCollection\",\"features\":[", "]}")
        }

        private static func list(_ head: String, _ tail: String) -> Form {
            Form(
                head: Array("\(head)\n".utf8), separator: Array(",\n".utf8),
                tail: Array("\n\(tail)\n".utf8), isWhole: true)
        }
    }

    let path: String
    var form = Form()
    private var count = 0
    private let records: FileWriter
    private let reasons: FileWriter

    init(_ path: String) throws {
        self.path = path
        if path != "-" { try StoreFiles.requireNoStore(path) }
        records = try FileWriter(path)
        reasons = try FileWriter(path == "-" ? "/dev/null" : ImportOptions.reasonsFile(of: path))
    }

    func add(_ location: RowLocation, reason: FormatError, record: [UInt8]?) throws {
        if let record { try write(record) }
        var json = JSONWriter()
        json.beginObject()
        if let table = location.table {
            json.member("table", table)
        }
        json.key(location.table == nil ? "line" : "row")
        json.int(Int64(reason.line ?? location.line))
        if let column = reason.column {
            json.member("column", column)
        }
        json.member("reason", reason.reason)
        json.endObject()
        json.newLine()
        try reasons.write(json.bytes)
    }

    /// Returns a row of JSON with a member that contains its class, if the class is known.
    static func record(_ row: [UInt8], ofClass name: String?) -> [UInt8] {
        guard let name, row.first == 0x7B else { return row }
        var json = JSONWriter()
        json.beginObject()
        json.member("$class", name)
        let rest = row.dropFirst()
        let isEmpty = rest.first { $0 > 0x20 } == 0x7D
        return json.bytes + (isEmpty ? [] : [0x2C]) + rest
    }

    private func write(_ record: [UInt8]) throws {
        try records.write(count == 0 ? form.head : form.separator)
        count += 1
        guard form.isOneLine else { return try records.write(record) }
        try records.write(record.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
    }

    func finish() throws {
        if count > 0 || form.isWhole {
            if count == 0 { try records.write(form.head) }
            try records.write(form.tail)
        }
        try records.finish()
        try reasons.finish()
    }
}
