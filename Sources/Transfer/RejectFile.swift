import DataFormats

/// Rows that could not be taken, as JSON Lines with their line, the reason and the row's text.
final class RejectFile {
    private let file: FileWriter

    init(_ path: String) throws { file = try FileWriter(path) }

    func add(line: Int, reason: String, row: String) throws {
        var json = JSONWriter()
        json.beginObject()
        json.key("line")
        json.int(Int64(line))
        json.key("reason")
        json.string(reason)
        json.key("row")
        json.string(row)
        json.endObject()
        json.newLine()
        try file.write(json.bytes)
    }

    func finish() throws { try file.finish() }
}
