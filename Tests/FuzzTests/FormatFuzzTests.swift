import DataFormats
import Testing

/// Texts of any content that a reader accepts are written and read again without a change.
@Suite struct FormatFuzzTests {
    private let world: FuzzWorld

    init() throws { world = try FuzzWorld() }

    /// Runs `rewrite` on inputs: it reads an input and returns its values as a list of texts, and the text to read next.
    private func compare(
        _ name: String, words: [String], count: Int = 400,
        _ rewrite: ([UInt8]) throws -> (values: [String], text: [UInt8])
    ) throws {
        var loop = try FuzzLoop(name, words: words)
        loop.run(count: count) { input, _ in
            do {
                let first = try rewrite(input)
                do {
                    let second = try rewrite(first.text)
                    if second.values != first.values {
                        Issue.record(
                            "\(name): \(FuzzLoop.shown(input)) is another value when it is read again"
                        )
                    }
                } catch {
                    Issue.record("\(name): \(FuzzLoop.shown(input)) cannot be read again: \(error)")
                }
                return "\(first.values.count.bitWidth - first.values.count.leadingZeroBitCount)"
            } catch {
                return FuzzLoop.outcome(of: error)
            }
        }
    }

    @Test(.timeLimit(.minutes(600))) func `JSON is the same value after it was written`() throws {
        let words = [
            "{", "}", "[", "]", "\"", "\":", ",", "null", "true", "\\u0000", "\\ud800", "\\udc00",
            "\u{FEFF}", "1e5",
        ]
        let tape = JSONTape()
        try compare("json", words: words) { input in
            try JSONText.read(input, onto: tape)
            var writer = JSONWriter()
            JSONNode(tape).write(to: &writer)
            return ([String(decoding: writer.bytes, as: UTF8.self)], writer.bytes)
        }
    }

    @Test(.timeLimit(.minutes(600))) func `CSV has the same fields after it was written`() throws {
        let path = world.path("rows.csv")
        let words = [",", "\"", "\"\"", "\n", "\r", "\r\n", "\u{FEFF}", "id", "name", "1,"]
        try compare("csv", words: words) { input in
            FuzzLoop.write(input, to: path)
            var format = CSVFormat()
            format.hasHeader = false
            guard let reader = try? CSVReader(FileReader(path), format) else { return ([], []) }
            var writer = CSVWriter()
            var values: [String] = []
            while try reader.next() {
                let fields = try (0..<reader.count).map { try reader.text($0) }
                // The reader skips empty lines, and a mark at the beginning of a file is not a part of its first field.
                let isFirst = values.isEmpty && fields.first??.hasPrefix("\u{FEFF}") == true
                if reader.fault != nil || isFirst || fields == [nil] { continue }
                for field in fields { writer.field(field) }
                writer.endRecord()
                values.append("\(fields)")
            }
            return (values, writer.bytes)
        }
    }

    @Test(.timeLimit(.minutes(600))) func `Lua data is the same value after it was written`() throws
    {
        let path = world.path("rows.lua")
        let words = [
            "{", "}", "[", "]", "=", "return ", "local ", "[[", "]]", "--[[", "--", "\\z", "\\x41",
            "\\u{41}", "0x1p4",
            "1e999", "(0/0)", "nil", "true", "Dog ", "_ENV[\"a b\"]", "\n", ";", ",", "..",
        ]
        try compare("lua", words: words) { input in
            FuzzLoop.write(input, to: path)
            var calls: [String] = []
            var rows: [String] = []
            var text = ""
            var list = JSONWriter(.lua)
            list.beginArray()
            let reader = LuaDataReader(try FileReader(path))
            while try reader.next() {
                let row = JSONNode(reader.tape)
                guard row.kind == .object || row.kind == .array else { continue }
                let value = String(decoding: reader.record, as: UTF8.self)
                guard let section = reader.section else {
                    row.write(to: &list)
                    rows.append(value)
                    continue
                }
                var name = JSONWriter(.lua)
                name.string(section)
                var call = JSONWriter(.lua)
                call.literal(section == "$schema" ? "schema " : "_ENV[\(name.text)] ")
                row.write(to: &call)
                text += call.text + "\n"
                calls.append(section + value)
            }
            list.endArray()
            text += "return " + list.text
            return (calls + rows, Array(text.utf8))
        }
    }
}
