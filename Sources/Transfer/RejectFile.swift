import DataFormats

/// The records that could not be imported, as they were in the input, so that the file can be corrected and imported.
///
/// The reasons are in a second file, `FILE.reasons.jsonl`: JSON Lines with the line (or table and row) and the reason.
final class RejectFile {
    private let records: FileWriter
    private let reasons: FileWriter
    /// What the first record needs before it, such as the header of a CSV file.
    var header: [UInt8] = []

    init(_ path: String) throws {
        records = try FileWriter(path)
        reasons = try FileWriter(path == "-" ? "/dev/null" : RejectNames.reasons(of: path))
    }

    func add(_ place: RowPlace, reason: FormatError, record: [UInt8]?) throws {
        if let record {
            if !header.isEmpty { try records.write(header + [0x0A]) }
            header = []
            try records.write(record + [0x0A])
        }
        var json = JSONWriter()
        json.beginObject()
        if let table = place.table {
            json.key("table")
            json.string(table)
        }
        json.key(place.table == nil ? "line" : "row")
        json.int(Int64(reason.line ?? place.line))
        if let column = reason.column {
            json.key("column")
            json.int(Int64(column))
        }
        json.key("reason")
        json.string(reason.reason)
        json.endObject()
        json.newLine()
        try reasons.write(json.bytes)
    }

    func finish() throws {
        try records.finish()
        try reasons.finish()
    }
}

/// The names of the files for invalid records.
package enum RejectNames {
    /// The file with the reasons for the records in a file.
    package static func reasons(of path: String) -> String { path + ".reasons.jsonl" }
}
