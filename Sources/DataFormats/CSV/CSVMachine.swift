/// Where a CSV text is, and the record that is being read.
///
/// A struct that is borrowed for a whole piece of the text: properties of a class would be checked for exclusive access
/// at every byte.
struct CSVMachine {
    typealias Handler = (CSVParser.Record, Int) throws -> Void

    private enum State { case start, plain, quoted, quoteInQuoted }

    private let separator: UInt8
    private var record = CSVParser.Record()
    private var state = State.start
    private var wasQuoted = false
    private var line = 1
    private var firstLine = 1
    private var skipsLineFeed = false
    private var isAtStart = true

    init(separator: UInt8) { self.separator = separator }

    mutating func parse(_ bytes: UnsafeBufferPointer<UInt8>, _ onRecord: Handler) throws {
        var place = 0
        if isAtStart, !bytes.isEmpty {
            isAtStart = false
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
        }
        while place < bytes.count {
            let byte = bytes[place]
            if skipsLineFeed {
                skipsLineFeed = false
                if byte == 0x0A {
                    place += 1
                    continue
                }
            }
            switch state {
            case .quoted:
                place = takeQuoted(bytes, place)
                continue
            case .quoteInQuoted where byte == 0x22:
                record.bytes.append(byte)
                state = .quoted
            case .start where byte == 0x22:
                wasQuoted = true
                state = .quoted
            case .start where !endsField(byte), .plain where !endsField(byte):
                place = takePlain(bytes, place)
                continue
            default: try takeEnd(byte, onRecord)
            }
            place += 1
        }
    }

    mutating func finish(_ onRecord: Handler) throws {
        if state == .quoted {
            throw FormatError(line: firstLine, "a quoted field has no closing quote")
        }
        if state != .start || record.count > 0 { try endRecord(onRecord) }
    }

    @inline(__always)
    private func endsField(_ byte: UInt8) -> Bool {
        byte == separator || byte == 0x0A || byte == 0x0D
    }

    /// Takes a field without quotes as far as it goes; the place behind it.
    private mutating func takePlain(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var end = start
        while end < bytes.count, !endsField(bytes[end]) { end += 1 }
        record.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        state = .plain
        return end
    }

    /// Takes what stands in quotes, and the quote that may end it; the place behind them.
    private mutating func takeQuoted(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end] != 0x22 {
            if bytes[end] == 0x0A { line += 1 }
            end += 1
        }
        record.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        guard end < bytes.count else { return end }
        state = .quoteInQuoted
        return end + 1
    }

    private mutating func takeEnd(_ byte: UInt8, _ onRecord: Handler) throws {
        if byte == separator { return endField() }
        guard byte == 0x0A || byte == 0x0D else {
            throw FormatError(
                line: line, "a comma or the line's end must follow a closing quote")
        }
        skipsLineFeed = byte == 0x0D
        try endLine(onRecord)
    }

    private mutating func endField() {
        record.ends.append(record.bytes.count)
        record.quoted.append(wasQuoted)
        wasQuoted = false
        state = .start
    }

    private mutating func endLine(_ onRecord: Handler) throws {
        defer {
            line += 1
            firstLine = line
        }
        // An empty line is no record.
        guard state != .start || record.count > 0 else { return }
        try endRecord(onRecord)
    }

    private mutating func endRecord(_ onRecord: Handler) throws {
        endField()
        defer {
            record.bytes.removeAll(keepingCapacity: true)
            record.ends.removeAll(keepingCapacity: true)
            record.quoted.removeAll(keepingCapacity: true)
        }
        try onRecord(record, firstLine)
    }
}
