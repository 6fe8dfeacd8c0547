import DataFormats
import ObjectStore

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
        reasons = try FileWriter(path == "-" ? "/dev/null" : RejectNames.reasons(of: path))
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

/// Returns the names of the files that accompany invalid records.
package enum RejectNames {
    /// Returns the path of the file with the reasons for invalid records.
    package static func reasons(of path: String) -> String { path + ".reasons.jsonl" }
}
