import DataFormats
import Foundation
import TestThreads
import Testing

/// Guessing, importing and scripts use the same CSV reader.
@Suite struct CSVDialectTests {
    private func records(_ text: String, _ format: CSVFormat = CSVFormat()) throws -> [[String?]] {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "moonpool-test-\(UUID()).csv")
        try text.write(to: file, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let table = try CSVReader(FileReader(file.path), format)
        var records: [[String?]] = [table.names]
        while try table.next() {
            try table.check()
            records.append(try table.names.indices.map { try table.text($0) })
        }
        return records
    }

    @Test func `separators, quotes, skipped lines and words for nil are options`() throws {
        var format = CSVFormat()
        format.separator = ";"
        format.quote = "'"
        format.skippedLines = 2
        format.nulls = ["NA", "-"]
        let text = "made by x\n\na;b\n'1;''2';NA\n-;'-'\n\"x\";\n"
        #expect(
            try records(text, format) == [
                ["a", "b"], ["1;'2", nil], [nil, "-"], ["\"x\"", nil],
            ])
        #expect(try records("a\tb\n1\t\"x\ty\"\n", .tabs) == [["a", "b"], ["1", "x\ty"]])
        format = CSVFormat()
        format.quote = nil
        #expect(try records("a,b\n\"x,y\n", format) == [["a", "b"], ["\"x", "y"]])
    }

    @Test func `a file without a header has numbered columns`() throws {
        var format = CSVFormat()
        format.hasHeader = false
        #expect(
            try records("1,x\n2,\n", format) == [
                ["column_1", "column_2"], ["1", "x"], ["2", nil],
            ])
        #expect(try records("", format) == [[]])
        #expect(
            message { _ = try records("1,x\n2\n", format) }.contains(
                "line 2: the record has 1 field, the first record has 2"))
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `lines end in LF, CR LF or CR`(end: String) throws {
        let lines = ["a,b", "1,\"x\(end)y\"", ",", "\"\",2"]
        let expected: [[String?]] = [["a", "b"], ["1", "x\(end)y"], [nil, nil], ["", "2"]]
        #expect(try records(lines.joined(separator: end) + end) == expected)
        // The last line does not need a line break.
        #expect(try records(lines.joined(separator: end)) == expected)
    }

    @Test func `an empty line is a record only in a file of one column`() throws {
        #expect(try records("a\n1\n\n\"\"\n\n") == [["a"], ["1"], [nil], [""], [nil]])
        #expect(try records("a,b\n1,2\n\n3,4\n\n") == [["a", "b"], ["1", "2"], ["3", "4"]])
    }

    @Test func `random records are read unchanged`() throws {
        var random = SeededGenerator(seed: 1)
        let pieces = [
            "", "a", ",", ";", "\"", "\"\"", "\n", "\r\n", "\r", "é", "日本", " ", "\t", "'", "NULL",
        ]
        for _ in 0..<300 {
            let columns = Int.random(in: 1...4, using: &random)
            let separator: Character = [",", ";", "\t", "|"].randomElement(using: &random)!
            let expected: [[String?]] = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                (0..<columns).map { _ in
                    if Int.random(in: 0..<4, using: &random) == 0 { return nil }
                    return (0..<Int.random(in: 0...4, using: &random)).map { _ in
                        pieces.randomElement(using: &random)!
                    }.joined()
                }
            }
            var writer = CSVWriter(separator: separator)
            let names: [String?] = (0..<columns).map { "c\($0)" }
            for record in [names] + expected {
                for field in record { writer.field(field) }
                writer.endRecord()
            }
            var format = CSVFormat()
            format.separator = separator
            let text = String(decoding: writer.bytes, as: UTF8.self)
            #expect(try records(text, format) == [names] + expected, "\(text.debugDescription)")
        }
    }

    @Test func `records do not depend on the pieces of the input`() throws {
        let text = "a,b\n" + (0..<300).map { "\($0),\"x\"\"\($0)\n,é\"\n" }.joined()
        for size in [1, 3, 17, 4096] {
            let pipe = try PieceWriter(Array(text.utf8), size)
            let table = try CSVReader(FileReader(pipe.path))
            var count = 0
            while try table.next() {
                try table.check()
                #expect(try table.text(1) == "x\"\(count)\n,é")
                #expect(table.line == 2 + 2 * count)
                count += 1
            }
            #expect(count == 300)
            pipe.wait()
        }
    }

    @Test(arguments: [
        ("", "the file is empty"), ("a,a\n1,2\n", ""),
        ("a,b\n1\n", "line 2: the record has 1 field"),
        ("a\n\"x\"y\n", "line 2: expected the separator"),
        ("a\n\"x\n\n", "line 2: a quoted field has no closing"),
        ("\u{FEFF}a\nx\n", ""), ("a\n\u{0}\n", ""),
    ])
    func `errors contain their line`(text: String, expected: String) throws {
        let said = message { _ = try records(text) }
        #expect(expected.isEmpty ? said == "nothing was wrong" : said.contains(expected), "\(said)")
    }

    @Test(arguments: [("\"", "\""), ("é", "\""), ("\n", "\""), (",", ","), (",", "é")])
    func `invalid dialects are refused`(separator: String, quote: String) throws {
        var format = CSVFormat()
        format.separator = Character(separator)
        format.quote = Character(quote)
        #expect(message { _ = try records("a\n", format) }.contains("one ASCII character"))
    }
}

/// Returns the message of an error, or a note that there was none.
private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing was wrong"
    } catch {
        return "\(error)"
    }
}
