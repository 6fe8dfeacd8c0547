import DataFormats

/// The rows of a file of data as Lua source.
///
/// A row is what it is in JSON, written as a table.
struct LuaSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        let reader = LuaDataReader(file) { reader in
            let section = reader.section
            guard section != "$schema" else { return }
            let place = RowPlace(line: reader.line)
            try importer.take(place) {
                "row that ends at line \(place.line)"
            } decode: {
                try JSONRowDecoder(importer, place).decode(
                    reader.tape, className: section ?? importer.options.className)
            }
        }
        try reader.read()
    }
}
