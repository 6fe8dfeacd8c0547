/// Reads comma-separated values (RFC 4180), one record at a time.
///
/// Fields can be quoted, with line breaks and doubled quotes inside; lines end with LF, CR LF or CR. A byte order mark
/// at the start is skipped. An empty field without quotes is nil; an empty field with quotes is the empty text. Memory
/// use depends on the largest record. Confined to one thread.
///
/// The header contains the column names. Columns without a name, and all columns of a file without a header, are called
/// `column_1` and so on.
///
///     let reader = try CSVReader(try FileReader("dogs.csv"))
///     while try reader.next() {
///         try reader.check()
///         print(reader.names, try reader.text(0) ?? "nil")
///     }
package final class CSVReader {
    private struct Field {
        /// The start as an offset in the record, or in the unescaped text of fields with doubled quotes.
        var start: Int
        var end: Int
        var isQuoted = false
        var isUnescaped = false
    }

    private enum Outcome {
        /// A record, its length, and its length including the line break.
        case record(Int, Int)
        case incomplete
    }

    /// The line on which the record begins, starting at 1.
    package private(set) var line = 1
    /// The error of an invalid record, which ends at the end of its line; nil for a valid record.
    package private(set) var fault: String?
    /// The names of the columns, which are unique: the second column called `a` is `a_2`.
    ///
    /// In a file of one column, an empty line is a record whose field is nil.
    package private(set) var names: [String] = []
    /// Notes about decisions that the options do not determine.
    package private(set) var notes: [String] = []
    /// The bytes of the file before the first record, without the last line break; empty without a header.
    package private(set) var header: [UInt8] = []

    private let format: CSVFormat
    /// Whether the next record has already been read, in order to count the columns.
    private var isAhead = false
    private let buffer: InputBuffer
    private var separator: UInt8
    private let quote: UInt8?
    private let nulls: [[UInt8]]
    private var fieldsOfRecord: UnsafeMutablePointer<Field>
    private var fieldCapacity = 64
    private var hasTooManyFields = false
    /// The greatest number of fields in a record.
    private static let maxFields = 1 << 16
    /// The number of fields in the record.
    package private(set) var count = 0
    /// The unescaped bytes of the fields with doubled quotes.
    private var unescaped: [UInt8] = []
    private var recordLength = 0
    private var consumed = 0
    private var nextLine = 1

    /// Opens the records of a file, and reads its header.
    ///
    /// Throws a `FormatError` for an invalid format, an empty file and an invalid header.
    package init(_ file: FileReader, _ format: CSVFormat = CSVFormat()) throws {
        self.format = format
        buffer = InputBuffer(file)
        separator = format.separator?.asciiValue ?? 0x2C
        quote = format.quote?.asciiValue
        nulls = format.nulls.map { Array($0.utf8) }
        fieldsOfRecord = .allocate(capacity: fieldCapacity)
        if let fault = format.fault { throw FormatError(fault) }
        try readHeader()
    }

    deinit { fieldsOfRecord.deallocate() }

    // MARK: Records

    /// Reads the next record; returns false at the end of the file.
    ///
    /// An invalid record has a ``fault``; reading continues on the next line.
    package func next() throws -> Bool {
        if isAhead {
            isAhead = false
            return true
        }
        while true {
            buffer.consume(consumed)
            consumed = 0
            line = nextLine
            guard let (length, whole) = try scanned() else { return false }
            assert(length <= whole, "a record includes its line break")
            recordLength = length
            consumed = whole
            if hasTooManyFields { fault = "a record has more than \(Self.maxFields) fields" }
            let bytes = UnsafeBufferPointer(rebasing: buffer.bytes.prefix(whole))
            nextLine += max(1, TextPosition.lineBreaks(bytes))
            if length == 0, names.count != 1 { continue }
            return true
        }
    }

    private func readHeader() throws {
        let separatorLine = try skipToHeader()
        guard try next() else {
            guard !format.hasHeader else {
                throw FormatError("the file is empty; a CSV file begins with a header")
            }
            return
        }
        if let fault { throw FormatError(line: line, fault) }
        guard format.hasHeader else {
            names = (0..<count).map(CSVFormat.columnName)
            header = separatorLine
            isAhead = true
            return
        }
        let titles = try (0..<count).map { index in
            guard !isNil(index) else { return CSVFormat.columnName(index) }
            guard let title = utf8(index) else { throw notUTF8("the header", column: nil) }
            return title.isEmpty ? CSVFormat.columnName(index) : title
        }
        header = [UInt8](repeating: 0x0A, count: format.skippedLines) + separatorLine + record
        var taken = Set(titles)
        var seen: Set<String> = []
        names = titles.map { title in
            guard !seen.insert(title).inserted else { return title }
            var number = 2
            while !taken.insert("\(title)_\(number)").inserted { number += 1 }
            notes.append(
                "a column called '\(title)' is '\(title)_\(number)', because there are several")
            return "\(title)_\(number)"
        }
        assert(Set(names).count == count, "each column has a name of its own")
    }

    /// Skips the lines before the header; returns the line `sep=;` with its line break, empty if there is none.
    private func skipToHeader() throws -> [UInt8] {
        try buffer.skipByteOrderMark()
        for _ in 0..<format.skippedLines {
            guard let length = try lineLength() else {
                buffer.consume(buffer.bytes.count)
                return []
            }
            buffer.consume(length)
            nextLine += 1
        }
        if let length = try lineLength(), length <= 7,
            buffer.bytes.starts(with: Array("sep=".utf8)),
            buffer.bytes.count > 5, [0x0A, 0x0D].contains(buffer.bytes[5])
        {
            // The line is a convention of spreadsheet programs.
            if format.separator == nil { useSeparator(buffer.bytes[4]) }
            defer { buffer.consume(length) }
            nextLine += 1
            return Array(buffer.bytes.prefix(length))
        }
        if format.separator == nil {
            detectSeparator(buffer.bytes.prefix(try lineLength() ?? buffer.bytes.count))
        }
        return []
    }

    /// Returns the length of the next line with its line break; nil for a last line without a line break.
    private func lineLength() throws -> Int? {
        var searched = 0
        while true {
            if let end = buffer.bytes[searched...].firstIndex(of: 0x0A) { return end + 1 }
            searched = buffer.bytes.count
            guard try buffer.fill() else { return nil }
        }
    }

    /// Chooses the separator of a file by its first line.
    private func detectSeparator(_ line: Slice<UnsafeBufferPointer<UInt8>>) {
        var counts: [UInt8: Int] = [:]
        var isQuoted = false
        for byte in line {
            if byte == quote { isQuoted.toggle() }
            if !isQuoted { counts[byte, default: 0] += 1 }
        }
        let candidates: [UInt8] = [0x3B, 0x09, 0x7C]
        guard counts[0x2C] == nil,
            let best = candidates.max(by: { counts[$0] ?? 0 < counts[$1] ?? 0 }),
            counts[best] != nil
        else { return }
        useSeparator(best)
    }

    private func useSeparator(_ byte: UInt8) {
        separator = byte
        guard byte != 0x2C else { return }
        let name = byte == 0x09 ? "a tab" : "'\(Character(UnicodeScalar(byte)))'"
        notes.append("the separator of fields is \(name); --separator ',' uses a comma")
    }

    private func scanned() throws -> (Int, Int)? {
        while true {
            let bytes = buffer.bytes
            if bytes.isEmpty, buffer.isWhole { return nil }
            if case .record(let length, let whole) = scan(bytes) { return (length, whole) }
            let wanted = 2 * bytes.count
            repeat { guard try buffer.fill() else { break } } while buffer.bytes.count < wanted
        }
    }

    /// The bytes of the record in the file, without the line break.
    package var record: [UInt8] { Array(buffer.bytes.prefix(recordLength)) }

    // MARK: Scanning

    private func scan(_ bytes: UnsafeBufferPointer<UInt8>) -> Outcome {
        count = 0
        fault = nil
        hasTooManyFields = false
        if !unescaped.isEmpty { unescaped.removeAll(keepingCapacity: true) }
        guard let base = bytes.baseAddress else { return .incomplete }
        let separator = separator
        let end = bytes.count
        var next = 0
        while true {
            let start = next
            if let quote, start < end, base[start] == quote {
                guard let after = scanQuoted(bytes, start, quote) else {
                    guard buffer.isWhole else { return .incomplete }
                    return failed(bytes, "a quoted field has no closing quote")
                }
                next = after
            } else {
                while next < end {
                    let byte = base[next]
                    if byte == separator || byte == 0x0A || byte == 0x0D { break }
                    next &+= 1
                }
                add(Field(start: start, end: next))
            }
            guard next < end else { return buffer.isWhole ? .record(end, end) : .incomplete }
            switch base[next] {
            case separator: next &+= 1
            case 0x0A: return .record(next, next &+ 1)
            case 0x0D:
                guard next &+ 1 < end else {
                    return buffer.isWhole ? .record(next, end) : .incomplete
                }
                return .record(next, base[next &+ 1] == 0x0A ? next &+ 2 : next &+ 1)
            default:
                return failed(
                    bytes, "expected the separator or the line's end after a closing quote")
            }
        }
    }

    /// Adds a quoted field.
    ///
    /// Returns the offset after its closing quote, or nil if the bytes end before the quote.
    private func scanQuoted(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ quote: UInt8
    ) -> Int? {
        var segment = start + 1
        var next = segment
        var unescapedStart: Int?
        while true {
            while next < bytes.count, bytes[next] != quote { next &+= 1 }
            guard next < bytes.count else { return nil }
            guard next + 1 < bytes.count else {
                // The quote could be the first of two.
                guard buffer.isWhole else { return nil }
                break
            }
            guard bytes[next + 1] == quote else { break }
            if unescapedStart == nil { unescapedStart = unescaped.count }
            unescaped.append(contentsOf: bytes[segment...next])
            next += 2
            segment = next
        }
        if let unescapedStart {
            unescaped.append(contentsOf: bytes[segment..<next])
            add(
                Field(
                    start: unescapedStart, end: unescaped.count, isQuoted: true, isUnescaped: true))
        } else {
            add(Field(start: segment, end: next, isQuoted: true))
        }
        return next + 1
    }

    /// Records an error in the record, which then ends at the end of its line.
    private func failed(_ bytes: UnsafeBufferPointer<UInt8>, _ reason: String) -> Outcome {
        guard let end = bytes.firstIndex(of: 0x0A) else {
            guard buffer.isWhole else { return .incomplete }
            fault = reason
            return .record(bytes.count, bytes.count)
        }
        fault = reason
        let hasReturn = end > 0 && bytes[end - 1] == 0x0D
        return .record(hasReturn ? end - 1 : end, end + 1)
    }

    @inline(__always)
    private func add(_ field: Field) {
        assert(field.start <= field.end, "a field ends after its start")
        if count == fieldCapacity {
            guard fieldCapacity < Self.maxFields else {
                hasTooManyFields = true
                return
            }
            growFields()
        }
        (fieldsOfRecord + count).initialize(to: field)
        count &+= 1
    }

    @inline(never)
    private func growFields() {
        let grown = UnsafeMutablePointer<Field>.allocate(capacity: 2 * fieldCapacity)
        grown.moveInitialize(from: fieldsOfRecord, count: count)
        fieldsOfRecord.deallocate()
        fieldsOfRecord = grown
        fieldCapacity *= 2
    }

    // MARK: Fields

    private func field(at index: Int) -> Field {
        precondition(index >= 0 && index < count, "the field is outside the record")
        return fieldsOfRecord[index]
    }

    private func withBytes<Result>(
        _ index: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result {
        let field = field(at: index)
        guard field.isUnescaped else {
            return try body(UnsafeBufferPointer(rebasing: buffer.bytes[field.start..<field.end]))
        }
        return try unescaped.withUnsafeBufferPointer {
            try body(UnsafeBufferPointer(rebasing: $0[field.start..<field.end]))
        }
    }

    /// Returns whether a field is nil: such a field has no quotes, and is empty or one of the texts for nil.
    package func isNil(_ index: Int) -> Bool {
        let field = field(at: index)
        if field.isQuoted { return false }
        if field.start == field.end { return true }
        guard !nulls.isEmpty else { return false }
        return withBytes(index) { bytes in nulls.contains { $0.elementsEqual(bytes) } }
    }

    /// Returns the text of a field; nil if the field is nil.
    ///
    /// Throws a `FormatError` with the column if it is not UTF-8.
    package func text(_ index: Int) throws -> String? {
        if isNil(index) { return nil }
        guard let text = utf8(index) else {
            throw notUTF8(
                index < names.count ? "'\(names[index])'" : "the field", column: index + 1)
        }
        return text
    }

    private func utf8(_ index: Int) -> String? {
        withBytes(index) { String(validating: $0, as: UTF8.self) }
    }

    private func notUTF8(_ subject: String, column: Int?) -> FormatError {
        FormatError(
            line: line, column: column,
            "\(subject) holds bytes that are not UTF-8; add the file's encoding, such as "
                + "--encoding windows-1252 (in Lua, encoding = …)")
    }

    /// Throws a `FormatError` if the current record is invalid, or if its number of fields differs from the number of
    /// columns.
    package func check() throws {
        if let fault { throw FormatError(line: line, fault) }
        guard count != names.count else { return }
        let noun = count == 1 ? "field" : "fields"
        let subject = format.hasHeader ? "the header names" : "the first record has"
        throw FormatError(
            line: line, "the record has \(count) \(noun), \(subject) \(names.count)")
    }

    /// Calls the body with the bytes of a field.
    package func withField<Result>(_ index: Int, _ body: (RawSpan) throws -> Result) rethrows
        -> Result
    {
        try withBytes(index) { try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0))) }
    }

    /// Calls the body with the bytes of a field, as a sequence.
    package func withUTF8<Result>(
        _ index: Int, _ body: (Span<UInt8>) throws -> Result
    ) rethrows -> Result {
        try withBytes(index) { try body($0.span) }
    }

    /// Returns a field as a 64-bit integer; nil for any other field.
    package func int(_ index: Int) -> Int64? { withBytes(index, NumberText.int) }

    /// Returns a field as a double that holds it exactly; nil for any other field.
    package func double(_ index: Int) -> Double? { withBytes(index, NumberText.exactDouble) }

    /// Returns the number types that represent a field exactly.
    package func numberTypes(_ index: Int) -> NumberTypes {
        withBytes(index, NumberTypes.init)
    }
}
