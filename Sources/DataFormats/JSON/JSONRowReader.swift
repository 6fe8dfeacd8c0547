/// Reads the rows of a file whose values are trees, one at a time.
///
/// Confined to one thread.
///
///     let reader: any RowReader = JSONLineReader(try FileReader("dogs.jsonl"))
///     while try reader.next() {
///         try reader.parse()
///         print(JSONNode(reader.tape).description)
///     }
package protocol RowReader: AnyObject {
    /// The row that was last parsed.
    var tape: JSONTape { get }
    /// The name of the list that contains the row, or `$schema` for a schema; nil for a row of an unnamed list.
    var section: String? { get }
    /// The line on which the row begins, starting at 1.
    var line: Int { get }
    /// The row as JSON, on one line unless it has several lines in the file.
    var record: [UInt8] { get }
    /// Advances to the next row; returns false after the last one.
    ///
    /// Throws a `FormatError` with the line if the file cannot be read further.
    func next() throws -> Bool
    /// Parses the row onto the tape, unless ``next()`` has parsed it.
    ///
    /// Throws a `FormatError` with line and column. The reader can continue with the next row.
    func parse() throws
    /// Returns the line and the column of an offset in the row; nil if the reader does not know them.
    func location(_ offset: Int) -> (line: Int, column: Int)?
}

extension RowReader {
    package var section: String? { nil }
    package func parse() throws {}
    package func location(_ offset: Int) -> (line: Int, column: Int)? { nil }
}

/// Reads the rows of one JSON text, one at a time, without holding the whole text in memory.
///
/// Confined to one thread.
///
///     let reader = JSONRowReader(try FileReader("dogs.json"))
///     while try reader.next() { print(JSONNode(reader.tape).description) }
package final class JSONRowReader: RowReader {
    package let tape = JSONTape()
    /// The name of the list that contains the row; nil for a top-level list, and for a list that was selected by its
    /// path.
    package private(set) var section: String?
    /// Whether the rows are features of a GeoJSON collection.
    package private(set) var isGeoJSON = false
    package private(set) var line = 1

    private enum State {
        case start
        /// Before a member of an object, at a depth of the path.
        case members(isFirst: Bool)
        /// Before an element of a list of rows.
        case elements(isFirst: Bool)
        case ended
    }

    private let buffer: InputBuffer
    private var state = State.start
    private var path: [String]?
    /// The number of enclosing objects at the current position.
    private var depth = 0
    private var hasFound = false
    private var column = 1
    /// The length of the row in bytes; the bytes are still in the buffer.
    private var rowLength = 0

    /// Creates a reader for the rows of a text.
    ///
    /// Without a path, the rows are the elements of a top-level list. For a top-level object, the rows are the elements
    /// of its lists, and the object in `$schema`. With a path such as `["data", "items"]`, the rows are the elements of
    /// the list at that path, or the single object there.
    package init(_ file: FileReader, path: [String]? = nil) {
        buffer = InputBuffer(file)
        self.path = path
    }

    /// Creates a reader for the features of a GeoJSON collection.
    package static func features(_ file: FileReader) -> JSONRowReader {
        let reader = JSONRowReader(file, path: ["features"])
        reader.isGeoJSON = true
        return reader
    }

    /// The bytes of the row in the text.
    package var record: [UInt8] { Array(buffer.bytes.prefix(rowLength)) }

    package func location(_ offset: Int) -> (line: Int, column: Int)? { position(offset) }

    private func position(_ offset: Int) -> (line: Int, column: Int) {
        TextPosition.location(buffer.bytes, offset, line: line, column: column)
    }

    package func next() throws -> Bool {
        tape.clear()
        consume(rowLength)
        rowLength = 0
        while true {
            switch state {
            case .start: try start()
            case .members(let isFirst): if try member(isFirst) { return true }
            case .elements(let isFirst): if try element(isFirst) { return true }
            case .ended:
                guard try peek() == nil else {
                    throw fault("expected the end of the text after the value")
                }
                guard hasFound || path == nil else {
                    throw FormatError(
                        "the text has no list of objects under '\((path ?? []).joined(separator: "."))'"
                    )
                }
                return false
            }
        }
    }

    // MARK: Structure

    private func start() throws {
        try buffer.skipByteOrderMark()
        guard let byte = try peek() else { throw fault("the text is empty") }
        switch byte {
        case 0x5B where path?.isEmpty ?? true:
            consume(1)
            state = .elements(isFirst: true)
            hasFound = true
        case 0x7B:
            consume(1)
            depth = 1
            state = .members(isFirst: true)
        default:
            // A text that is not JSON at all produces its own error.
            try scan()
            throw fault(
                path == nil
                    ? "expected a list of objects" : "expected an object that holds the list")
        }
    }

    /// Reads up to the next member of an object; returns whether the member is a row.
    private func member(_ isFirst: Bool) throws -> Bool {
        guard let byte = try peek() else { throw fault("the text ends too early") }
        if byte == 0x7D {
            consume(1)
            assert(depth > 0, "only an open object ends")
            depth -= 1
            state = depth == 0 ? .ended : .members(isFirst: false)
            return false
        }
        if !isFirst {
            guard byte == 0x2C else { throw fault("expected ',' or '}'") }
            consume(1)
            guard try peek() != 0x7D else { throw fault("expected a member after ','") }
        }
        let name = try self.name()
        state = .members(isFirst: false)
        guard let path else { return try section(name) }
        // Objects outside of the path are skipped entirely, so the depth determines the wanted name.
        guard depth <= path.count, name == path[depth - 1], !hasFound else {
            try skip()
            return false
        }
        let first = try peek()
        if depth < path.count {
            guard first == 0x7B else { throw fault("expected an object under \"\(name)\"") }
            consume(1)
            depth += 1
            state = .members(isFirst: true)
            return false
        }
        hasFound = true
        if first == 0x5B {
            consume(1)
            state = .elements(isFirst: true)
            return false
        }
        guard first == 0x7B else { throw fault("expected a list of objects under \"\(name)\"") }
        try scan()
        return true
    }

    /// Reads a member of an object of lists; returns whether the member is a row.
    private func section(_ name: String) throws -> Bool {
        let first = try peek()
        if first == 0x5B {
            section = name
            consume(1)
            state = .elements(isFirst: true)
            return false
        }
        try scan()
        if name == "$schema", first == 0x7B {
            section = name
            return true
        }
        if name == "type", tape.kind(0) == .string, tape.text(0) == "FeatureCollection" {
            isGeoJSON = true
            path = ["features"]
            consume(rowLength)
            rowLength = 0
            return false
        }
        rowLength = 0
        throw fault(
            "expected a list of objects under \"\(name)\"; if the rows are elsewhere, name their list, "
                + "as in --records data.items")
    }

    /// Reads up to the next element; returns whether there is one.
    private func element(_ isFirst: Bool) throws -> Bool {
        guard let byte = try peek() else { throw fault("the text ends too early") }
        if byte == 0x5D {
            consume(1)
            state = depth == 0 ? .ended : .members(isFirst: false)
            section = nil
            return false
        }
        if !isFirst {
            guard byte == 0x2C else { throw fault("expected ',' or ']'") }
            consume(1)
            guard try peek() != nil else { throw fault("the text ends too early") }
        }
        state = .elements(isFirst: false)
        try scan()
        return true
    }

    private func name() throws -> String {
        guard try peek() == 0x22 else { throw fault("expected a name in quotes") }
        try scan()
        let name = tape.text(0)
        tape.clear()
        consume(rowLength)
        rowLength = 0
        guard try peek() == 0x3A else { throw fault("expected ':'") }
        consume(1)
        return name
    }

    private func skip() throws {
        try scan()
        tape.clear()
        consume(rowLength)
        rowLength = 0
    }

    // MARK: Bytes

    /// Skips whitespace and returns the next byte; nil at the end of the text.
    private func peek() throws -> UInt8? {
        while true {
            let bytes = buffer.bytes
            if let found = bytes.firstIndex(where: { !JSONText.isSpace($0) }) {
                consume(found)
                return buffer.bytes[0]
            }
            consume(bytes.count)
            guard try buffer.fill() else { return nil }
        }
    }

    /// Scans the value at the current position, after whitespace.
    private func scan() throws {
        _ = try peek()
        while true {
            tape.clear()
            let bytes = buffer.bytes
            switch JSONScanner.scan(bytes, from: 0, isWhole: buffer.isWhole, onto: tape.buffer) {
            case .value(let end):
                rowLength = end
                return
            case .fault(let offset, let reason): throw fault(reason, offset)
            case .exhausted: throw JSONLimits.memoryReached
            case .incomplete:
                // The amount doubles each time, so that a large value is not scanned again for every piece that arrives
                // from a pipe.
                let wanted = 2 * bytes.count
                repeat { guard try buffer.fill() else { break } } while buffer.bytes.count < wanted
            }
        }
    }

    private func consume(_ count: Int) {
        let bytes = UnsafeBufferPointer(rebasing: buffer.bytes.prefix(count))
        let breaks = TextPosition.lineBreaks(bytes)
        line += breaks
        if breaks > 0, let last = bytes.lastIndex(of: 0x0A) {
            column = 1
            addColumns(UnsafeBufferPointer(rebasing: bytes[(last + 1)...]))
        } else {
            addColumns(bytes)
        }
        buffer.consume(count)
    }

    private func addColumns(_ bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes where byte & 0xC0 != 0x80 { column += 1 }
    }

    private func fault(_ reason: String, _ offset: Int = 0) -> FormatError {
        let position = position(offset)
        return FormatError(line: position.line, column: position.column, reason)
    }
}

/// Reads JSON Lines: one value on each line.
///
/// Blank lines are skipped.
///
/// Confined to one thread.
///
///     let reader = JSONLineReader(try FileReader("dogs.jsonl"))
///     while try reader.next() {
///         try reader.parse()
///         print(JSONNode(reader.tape).description)
///     }
package final class JSONLineReader: RowReader {
    package let tape = JSONTape()
    private let lines: LineReader
    private var current = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

    /// Creates a reader for the lines of a file.
    package init(_ file: FileReader) { lines = LineReader(file) }

    package var line: Int { lines.line }

    /// Advances to the next line that is not blank; returns false at the end of the file.
    package func next() throws -> Bool {
        var isBlank = true
        while isBlank {
            guard
                try lines.nextLine({ bytes in
                    // The bytes are valid until the next line is read.
                    current = bytes
                    isBlank = bytes.allSatisfy(JSONText.isSpace)
                })
            else { return false }
        }
        return true
    }

    package func parse() throws { try JSONText.read(current, onto: tape, line: line) }

    package var record: [UInt8] { Array(current) }

    package func location(_ offset: Int) -> (line: Int, column: Int)? {
        TextPosition.location(current, offset, line: line, column: 1)
    }
}

/// Looks up the index of a row's member in a list of names.
///
/// Most rows have their members in the same order, so the lookup first tries the name that followed in the last row.
/// Confined to one thread.
package final class MemberNames {
    // Pointers avoid checks and reference counting, which would cost more than the comparisons.
    private let names: UnsafeMutableBufferPointer<UnsafeBufferPointer<UInt8>>
    private let order: UnsafeMutableBufferPointer<Int>
    private let lastRow: UnsafeMutableBufferPointer<UInt64>
    private let state: UnsafeMutablePointer<State>
    private let positions: [String: Int]

    private struct State {
        var member = 0
        var row: UInt64 = 0
        var repeated: Int?
    }

    /// Creates the lookup for names in the order of their indexes; nil for an index without a name.
    package init(_ texts: [String?]) {
        names = .allocate(capacity: texts.count)
        // A row can have members that are not in the list, such as its class.
        order = .allocate(capacity: texts.count + 4)
        order.initialize(repeating: -1)
        lastRow = .allocate(capacity: texts.count)
        lastRow.initialize(repeating: 0)
        state = .allocate(capacity: 1)
        state.initialize(to: State())
        var positions: [String: Int] = [:]
        for (position, text) in texts.enumerated() {
            if let text { positions[text] = position }
            let utf8 = Array((text ?? "").utf8)
            let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: utf8.count)
            _ = bytes.initialize(from: utf8)
            names.initializeElement(at: position, to: UnsafeBufferPointer(bytes))
        }
        self.positions = positions
    }

    deinit {
        for name in names { name.deallocate() }
        names.deallocate()
        order.deallocate()
        lastRow.deallocate()
        state.deallocate()
    }

    /// Begins a row.
    package func startRow() {
        state.pointee.member = 0
        state.pointee.row &+= 1
        state.pointee.repeated = nil
    }

    /// The index of a name that occurs twice in the row; nil if there is none.
    package var repeated: Int? { state.pointee.repeated }

    /// Returns the index of the name at an index of a tape; nil if the list does not contain the name.
    ///
    /// Look up members in the order of the row. An empty name is never found.
    package func position(_ tape: JSONTape, _ index: Int) -> Int? {
        let token = tape.buffer.pointee[index]
        guard token.length > 0 else { return nil }
        let position = state.pointee.member
        state.pointee.member = position &+ 1
        if position < order.count, order[position] >= 0,
            tape.buffer.pointee.equals(token, names[order[position]])
        {
            return record(order[position])
        }
        guard let found = positions[tape.text(index)] else { return nil }
        if position < order.count { order[position] = found }
        return record(found)
    }

    @inline(__always)
    private func record(_ position: Int) -> Int {
        let row = state.pointee.row
        if lastRow[position] == row { state.pointee.repeated = position }
        lastRow[position] = row
        return position
    }
}
