import DataFormats

/// The rows of a Lua data file.
///
/// A row is a table with the same members as in JSON.
struct LuaSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        var isFirst = true
        let reader = LuaDataReader(file) { reader in
            let wasFirst = isFirst
            isFirst = false
            let section = reader.section
            if section == "$schema", wasFirst, try SchemaJSON.schema(reader.tape, 0) != nil {
                return
            }
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                // A row with several lines is written as JSON on one line, which an import of JSON Lines accepts.
                var json = JSONWriter()
                JSONNode(reader.tape).write(to: &json)
                return RejectFile.record(json.bytes, ofClass: section)
            } decode: {
                try JSONRowDecoder(importer, location).decode(
                    reader.tape, section: section)
            }
        }
        try reader.read()
    }
}
