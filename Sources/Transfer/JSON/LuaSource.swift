import DataFormats

/// The rows of a file of data as Lua source.
///
/// A row is what it is in JSON, written as a table.
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
            let place = RowPlace(line: reader.line)
            try importer.take(place) {
                // A row that spans lines is written on one, as JSON, which the import of JSON Lines takes.
                var json = JSONWriter()
                JSONNode(reader.tape).write(to: &json)
                return json.bytes
            } decode: {
                try JSONRowDecoder(importer, place).decode(
                    reader.tape, className: section ?? importer.options.className)
            }
        }
        try reader.read()
    }
}
