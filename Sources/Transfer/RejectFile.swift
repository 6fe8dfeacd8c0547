import DataFormats

/// Rows that could not be taken, as JSON Lines with their line (or table and row), the reason and the row's text.
final class RejectFile {
    private let file: FileWriter

    init(_ path: String) throws { file = try FileWriter(path) }

    func add(_ place: RowPlace, reason: String, row: String) throws {
        var json = JSONWriter()
        json.beginObject()
        if let table = place.table {
            json.key("table")
            json.string(table)
        }
        json.key(place.table == nil ? "line" : "row")
        json.int(Int64(place.line))
        json.key("reason")
        json.string(reason)
        json.key(place.table == nil ? "row" : "values")
        json.string(row)
        json.endObject()
        json.newLine()
        try file.write(json.bytes)
    }

    func finish() throws { try file.finish() }
}
