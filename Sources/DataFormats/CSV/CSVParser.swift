/// Reads comma-separated values (RFC 4180) as they arrive, in pieces of any size.
///
/// Fields may be quoted, with line breaks and doubled quotes inside; lines end in LF or CR LF. A byte order mark at the
/// start is passed over. An empty field without quotes is no value, one with quotes is the empty text. Confined to one
/// thread.
public final class CSVParser {
    /// One record, valid until the next one.
    public struct Record {
        fileprivate var bytes: [UInt8] = []
        fileprivate var ends: [Int] = []
        fileprivate var quoted: [Bool] = []

        /// How many fields it has.
        public var count: Int { ends.count }

        /// The text of a field; nil for nothing between the commas.
        public func field(_ index: Int) -> String? {
            let start = index == 0 ? 0 : ends[index - 1]
            if start == ends[index], !quoted[index] { return nil }
            return String(decoding: bytes[start..<ends[index]], as: UTF8.self)
        }

        /// Whether there is nothing between the commas.
        public func isNothing(_ index: Int) -> Bool { range(index).isEmpty && !quoted[index] }

        /// Lends the bytes of a field.
        public func withField<Result>(
            _ index: Int, _ body: (RawSpan) throws -> Result
        ) rethrows -> Result {
            let range = range(index)
            return try bytes.withUnsafeBytes { try body(RawSpan(_unsafeBytes: $0[range])) }
        }

        /// A field that is a whole number of 64 bits; nil for any other.
        public func int(_ index: Int) -> Int64? { number(index, NumberText.int) }

        /// A field that is a number in digits; nil for any other.
        public func double(_ index: Int) -> Double? { number(index, NumberText.double) }

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
        public var fields: [String?] { ends.indices.map(field) }
    }

    private enum State { case start, plain, quoted, quoteInQuoted }

    private let separator: UInt8
    private let onRecord: (Record, Int) throws -> Void
    private var record = Record()
    private var state = State.start
    private var wasQuoted = false
    private var line = 1
    private var firstLine = 1
    private var skipsLineFeed = false
    private var isAtStart = true

    /// A parser that calls `onRecord` with each record and the line it begins on, from 1 on.
    ///
    /// The separator is an ASCII character.
    public init(separator: Character = ",", onRecord: @escaping (Record, Int) throws -> Void) {
        self.separator = separator.asciiValue ?? 0x2C
        self.onRecord = onRecord
    }

    /// Reads on; throws a `FormatError` where a quote stands in the wrong place, or what `onRecord` threw.
    public func parse(_ bytes: [UInt8]) throws {
        var bytes = bytes[...]
        if isAtStart, !bytes.isEmpty {
            isAtStart = false
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        }
        for byte in bytes { try take(byte) }
    }

    /// Says that the text is at its end: the last line needs no line break.
    public func finish() throws {
        if state == .quoted {
            throw FormatError(line: firstLine, "a quoted field has no closing quote")
        }
        if state != .start || record.count > 0 { try endRecord() }
    }

    @inline(__always)
    private func take(_ byte: UInt8) throws {
        if skipsLineFeed {
            skipsLineFeed = false
            if byte == 0x0A { return }
        }
        switch state {
        case .quoted:
            if byte == 0x22 {
                state = .quoteInQuoted
            } else {
                if byte == 0x0A { line += 1 }
                record.bytes.append(byte)
            }
        case .quoteInQuoted where byte == 0x22:
            record.bytes.append(byte)
            state = .quoted
        case .start where byte == 0x22:
            wasQuoted = true
            state = .quoted
        default:
            switch byte {
            case separator: endField()
            case 0x0A, 0x0D:
                skipsLineFeed = byte == 0x0D
                try endLine()
            default:
                guard state != .quoteInQuoted else {
                    throw FormatError(
                        line: line, "a comma or the line's end must follow a closing quote")
                }
                state = .plain
                record.bytes.append(byte)
            }
        }
    }

    private func endField() {
        record.ends.append(record.bytes.count)
        record.quoted.append(wasQuoted)
        wasQuoted = false
        state = .start
    }

    private func endLine() throws {
        defer {
            line += 1
            firstLine = line
        }
        // An empty line is no record.
        guard state != .start || record.count > 0 else { return }
        try endRecord()
    }

    private func endRecord() throws {
        endField()
        defer {
            record.bytes.removeAll(keepingCapacity: true)
            record.ends.removeAll(keepingCapacity: true)
            record.quoted.removeAll(keepingCapacity: true)
        }
        try onRecord(record, firstLine)
    }
}
