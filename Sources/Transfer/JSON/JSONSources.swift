import DataFormats
import ObjectStore

/// The rows of a file of JSON Lines.
struct JSONLinesSource {
    private let lines: LineReader

    init(_ file: FileReader) { lines = LineReader(file) }

    func read(into importer: Importer) throws {
        var rows = 0
        var decoded = Importer.Row.none
        let className = importer.options.className
        let parser = JSONParser(.values) { parser in
            rows += 1
            guard !isSchema(parser.tape) else { return }
            decoded = try JSONRowDecoder(importer, RowPlace(line: lines.line)).decode(
                parser.tape, className: className)
        }
        while try lines.next({ bytes, range in
            guard bytes[range].contains(where: { $0 > 0x20 }) else { return }
            rows = 0
            decoded = .none
            try importer.take(RowPlace(line: lines.line)) {
                String(decoding: bytes[range], as: UTF8.self)
            } decode: {
                do {
                    try parser.parse(bytes, range)
                    // A number ends with the line, an object with its brace.
                    if rows == 0 { try parser.parse(Self.lineEnd) }
                    guard rows == 1, !parser.isInsideValue else {
                        throw FormatError("a line must contain exactly one JSON object")
                    }
                } catch {
                    parser.reset()
                    throw error
                }
                return decoded
            }
        }) {}
    }

    private static let lineEnd: [UInt8] = [0x0A]
}

/// Whether a row is the schema that an export begins with.
private func isSchema(_ tape: JSONTape) -> Bool {
    tape.kind(0) == .object && tape.kind(1) == .string && tape.equals(1, schemaMember)
}

private let schemaMember = Array("$schema".utf8)

/// The rows of one JSON text: a list of objects, or an object with a list for each class.
struct JSONSource {
    private let file: FileReader

    init(_ file: FileReader) { self.file = file }

    func read(into importer: Importer) throws {
        let parser = JSONParser(.elements) { parser in
            let section = parser.section
            guard section != "$schema" else { return }
            let place = RowPlace(line: parser.line)
            try importer.take(place) {
                "row at line \(place.line)"
            } decode: {
                try JSONRowDecoder(importer, place).decode(
                    parser.tape, className: section ?? importer.options.className)
            }
        }
        while true {
            let bytes = try file.read()
            if bytes.isEmpty { break }
            try parser.parse(bytes)
        }
        try parser.finish()
    }
}
