/// Reads comma-separated values (RFC 4180) as they arrive, in pieces of any size.
///
/// Fields may be quoted, with line breaks and doubled quotes inside; lines end in LF or CR LF. A byte order mark at the
/// start is passed over. An empty field without quotes is no value, one with quotes is the empty text. Confined to one
/// thread.
package final class CSVParser {
    /// One record, valid until the next one.
    package struct Record {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        var quoted: [Bool] = []

        /// How many fields it has.
        package var count: Int { ends.count }

        /// The text of a field; nil for nothing between the commas.
        package func field(_ index: Int) -> String? {
            let start = index == 0 ? 0 : ends[index - 1]
            if start == ends[index], !quoted[index] { return nil }
            return String(decoding: bytes[start..<ends[index]], as: UTF8.self)
        }

        /// Whether the bytes of a field are UTF-8; others are replaced where it is read as text.
        package func isText(_ index: Int) -> Bool {
            String(validating: bytes[range(index)], as: UTF8.self) != nil
        }

        /// Whether there is nothing between the commas.
        package func isNothing(_ index: Int) -> Bool { range(index).isEmpty && !quoted[index] }

        /// Lends the bytes of a field.
        package func withField<Result>(
            _ index: Int, _ body: (RawSpan) throws -> Result
        ) rethrows -> Result {
            let range = range(index)
            return try bytes.withUnsafeBytes { try body(RawSpan(_unsafeBytes: $0[range])) }
        }

        /// A field that is a whole number of 64 bits; nil for any other.
        package func int(_ index: Int) -> Int64? { number(index, NumberText.int) }

        /// A field that is a number in digits; nil for any other.
        package func double(_ index: Int) -> Double? { number(index, NumberText.double) }

        private func number<Number>(
            _ index: Int, _ read: (UnsafeBufferPointer<UInt8>) -> Number?
        ) -> Number? {
            let range = range(index)
            return bytes.withUnsafeBufferPointer {
                read(UnsafeBufferPointer(rebasing: $0[range]))
            }
        }

        private func range(_ index: Int) -> Range<Int> {
            (index == 0 ? 0 : ends[index - 1])..<ends[index]
        }

        /// All fields.
        package var fields: [String?] { ends.indices.map(field) }
    }

    private let onRecord: (Record, Int) throws -> Void
    private var machine: CSVMachine

    /// A parser that calls `onRecord` with each record and the line it begins on, from 1 on.
    ///
    /// The separator is an ASCII character.
    package init(separator: Character = ",", onRecord: @escaping (Record, Int) throws -> Void) {
        machine = CSVMachine(separator: separator.asciiValue ?? 0x2C)
        self.onRecord = onRecord
    }

    /// Reads on; throws a `FormatError` where a quote stands in the wrong place, or what `onRecord` threw.
    package func parse(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBufferPointer { try machine.parse($0, onRecord) }
    }

    /// Says that the text is at its end: the last line needs no line break.
    package func finish() throws { try machine.finish(onRecord) }
}
