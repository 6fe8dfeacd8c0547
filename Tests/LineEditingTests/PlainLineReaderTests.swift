import Foundation
import LineEditing
import Testing

@Suite struct PlainLineReaderTests {
    @Test func `the reader returns one line after the other, and a last line without a line break`()
    {
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("one\n\ntwo \u{E9}\nend".utf8))
        pipe.fileHandleForWriting.closeFile()
        let reader = PlainLineReader(input: pipe.fileHandleForReading.fileDescriptor)
        var lines: [String] = []
        while let line = reader.readLine() { lines.append(String(decoding: line, as: UTF8.self)) }
        #expect(lines == ["one", "", "two \u{E9}", "end"])
        #expect(reader.readLine() == nil)
    }
}
