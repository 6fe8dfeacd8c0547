import DataFormats
import ObjectStore

/// The rows of a JSON Lines file.
struct JSONLinesSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        let reader = JSONLineReader(file)
        importer.locator = reader
        var isFirst = true
        while try reader.advance() {
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                reader.record
            } decode: {
                let wasFirst = isFirst
                isFirst = false
                try reader.parse()
                if wasFirst, try SchemaJSON.schema(ofLine: reader.tape) != nil { return .none }
                return try JSONRowDecoder(importer, location).decode(
                    reader.tape, section: nil)
            }
        }
    }
}

/// The rows of one JSON text: a list of objects, an object with a list for each class, or GeoJSON.
struct JSONSource {
    private let reader: JSONRowReader

    init(_ reader: JSONRowReader) { self.reader = reader }

    func read(into importer: Importer) throws {
        importer.locator = reader
        let flat = JSONTape()
        var isFirst = true
        while try reader.next() {
            let wasFirst = isFirst
            isFirst = false
            if wasFirst {
                importer.setRejectForm { reader.isGeoJSON ? .features : .rows($0) }
            }
            if wasFirst, reader.section == "$schema",
                try SchemaJSON.schema(reader.tape, 0) != nil
            {
                continue
            }
            let location = RowLocation(line: reader.line)
            try importer.take(location) {
                RejectFile.record(reader.record, ofClass: reader.section)
            } decode: {
                let decoder = JSONRowDecoder(importer, location)
                guard reader.isGeoJSON else {
                    return try decoder.decode(reader.tape, section: reader.section)
                }
                GeoJSONFeature.flatten(reader.tape, onto: flat)
                return try decoder.decode(
                    flat, section: importer.useGivenClass() ?? GeoJSONFeature.className)
            }
        }
    }
}
