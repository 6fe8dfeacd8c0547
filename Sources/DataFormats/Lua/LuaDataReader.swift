/// Reads rows from Lua source that contains only data, without running it.
///
/// Accepts the form of ``LuaDataText``, rows as calls (`Dog {id = 1, name = "Rex"}`), and a file that returns a table:
/// a list of rows, or a list of rows for each name. Values are literals and tables of literals; anything else is an
/// error. Memory use depends on the largest row. Confined to one thread.
package final class LuaDataReader {
    /// The row that was last read.
    package let tape: JSONTape
    /// The name of the list that contains the row, or `$schema` for a schema; nil for a row of an unnamed list.
    package private(set) var section: String?

    private let bytes: ByteStream
    private let values: LuaValueReader
    private let onRow: (LuaDataReader) throws -> Void

    /// Creates a reader that calls `onRow` for each row.
    ///
    /// The row is valid only during the call.
    package init(_ file: FileReader, onRow: @escaping (LuaDataReader) throws -> Void) {
        bytes = ByteStream(file)
        values = LuaValueReader(bytes)
        tape = values.tape
        self.onRow = onRow
    }

    /// The current line, starting at 1.
    package var line: Int { bytes.line }

    /// Reads all rows.
    ///
    /// Throws a `FormatError` for source that is not data, and the errors of `onRow`.
    package func read() throws {
        _ = try bytes.skip(Array("\u{FEFF}".utf8))
        if try bytes.peek() == 0x23 {
            while let byte = try bytes.peek(), byte != 0x0A { bytes.advance() }
        }
        while try statement() {}
    }

    /// Reads a statement.
    ///
    /// Returns false at the end of the file.
    private func statement() throws -> Bool {
        try values.skipSpace()
        guard let byte = try bytes.peek() else { return false }
        if byte == 0x3B {
            bytes.advance()
            return true
        }
        guard LuaWords.isStart(byte) else { throw refusal("a row") }
        let word = try values.name()
        switch word {
        case "local":
            guard try bytes.skip(LuaDataText.afterLocal) else { throw program() }
        case "do":
            guard try bytes.skip(LuaDataText.afterDo) else { throw program() }
        case "end":
            guard try bytes.skip(LuaDataText.afterEnd) else { throw program() }
        case "return":
            try values.skipSpace()
            try returned()
            try values.skipSpace()
            if try bytes.peek() == 0x3B { bytes.advance() }
            try values.skipSpace()
            guard try bytes.peek() == nil else { throw refusal("the end of the file") }
            return false
        case "_ENV":
            try values.expect(0x5B, "[")
            try values.skipSpace()
            let name = try values.string()
            try values.expect(0x5D, "]")
            try row(name)
        case "schema": try row("$schema")
        default:
            guard LuaWords.isName(word) else { throw program() }
            try row(word)
        }
        return true
    }

    private func row(_ name: String) throws {
        try values.skipSpace()
        guard try bytes.peek() == 0x7B else { throw program() }
        section = name
        try values.value()
        try endRow()
    }

    private func endRow() throws {
        defer { tape.clear() }
        try onRow(self)
    }

    // MARK: A returned table

    private func returned() throws {
        if try bytes.peek() != 0x7B {
            // `return data` is the last line in the form with calls.
            guard try values.name() == "data" else { throw refusal("a table") }
            return
        }
        bytes.advance()
        try values.forEachField { [self] name in
            guard let name else {
                section = nil
                try values.value()
                return try endRow()
            }
            if name == "schema" {
                section = "$schema"
                try values.value()
                return try endRow()
            }
            guard try bytes.peek() == 0x7B else { throw refusal("a list of rows for '\(name)'") }
            bytes.advance()
            try values.forEachField { [self] inner in
                guard inner == nil else { throw refusal("a list of rows for '\(name)'") }
                section = name
                try values.value()
                try endRow()
            }
        }
    }

    private func refusal(_ expected: String) -> FormatError {
        FormatError(line: line, "expected \(expected)")
    }

    private func program() -> FormatError {
        FormatError(
            line: line,
            "expected data, such as Dog {id = 1} or return { … }; run a program with "
                + "`moonpool FILE`")
    }
}

/// The fixed parts of a Lua data file, between the rows.
///
/// In Lua, such a file returns its rows by class: each row is a call of a function that collects the rows. The calls
/// are in functions with at most a thousand rows each, because Lua limits the number of constants in a function.
package enum LuaDataText {
    /// The maximum number of rows in a function.
    package static let rowsInPart = 1000

    /// The beginning of a file.
    package static let head = """
        -- Data of a Moonpool store: `moonpool import STORE FILE` imports it.
        -- In Lua, dofile(FILE) returns { schema = { … }, Class = { row, … }, … }.

        """ + "local" + String(decoding: afterLocal, as: UTF8.self)

    /// The end of a file.
    package static let tail = "return data\n"
    /// The beginning of a part.
    package static let partHead = "do" + String(decoding: afterDo, as: UTF8.self)
    /// The end of a part.
    package static let partTail = "end" + String(decoding: afterEnd, as: UTF8.self)

    static let afterLocal = Array(
        """
         data = {}
        local _ENV = setmetatable({ schema = function(classes) data.schema = classes end }, {
          __index = function(env, class)
            local rows = {}
            data[class] = rows
            local function add(row) rows[#rows + 1] = row end
            env[class] = add
            return add
          end,
        })

        """.utf8)
    static let afterDo = Array(" local function part()\n".utf8)
    static let afterEnd = Array(" part() end\n".utf8)
}

/// The bytes of a file in sequence.
final class ByteStream {
    private let file: FileReader
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The line of the current byte, starting at 1.
    private(set) var line = 1

    init(_ file: FileReader) { self.file = file }

    /// Returns the next byte without consuming it; nil at the end.
    @inline(__always)
    func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        return try refill() ? buffer[position] : nil
    }

    /// Returns the byte after the next one; nil at the end.
    func peekSecond() throws -> UInt8? {
        while buffer.count - position < 2, try more() {}
        return position + 1 < buffer.count ? buffer[position + 1] : nil
    }

    /// Consumes the next byte.
    @inline(__always)
    func advance() {
        if buffer[position] == 0x0A { line += 1 }
        position += 1
    }

    /// Consumes and returns the next byte; nil at the end.
    @inline(__always)
    func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        advance()
        return byte
    }

    /// Consumes a text if it comes next.
    ///
    /// Otherwise returns false and consumes no bytes.
    func skip(_ text: [UInt8]) throws -> Bool {
        while buffer.count - position < text.count, try more() {}
        guard buffer[position...].starts(with: text) else { return false }
        for _ in text { advance() }
        return true
    }

    private func refill() throws -> Bool {
        guard !isAtEnd else { return false }
        buffer = try file.read()
        position = 0
        isAtEnd = buffer.isEmpty
        return !isAtEnd
    }

    /// Reads more bytes and keeps those that were not consumed.
    private func more() throws -> Bool {
        guard !isAtEnd else { return false }
        let bytes = try file.read()
        buffer = Array(buffer[position...]) + bytes
        position = 0
        isAtEnd = bytes.isEmpty
        return !isAtEnd
    }
}

/// The syntax of Lua names.
package enum LuaWords {
    private static let reserved: Set<String> = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ]

    /// Returns whether a text is a valid Lua name.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isStart(first) else { return false }
        return text.utf8.allSatisfy(isPart) && !reserved.contains(text)
    }

    /// Returns whether a name can begin with this byte.
    static func isStart(_ byte: UInt8) -> Bool {
        byte == 0x5F || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A)
    }

    /// Returns whether a name can contain this byte.
    static func isPart(_ byte: UInt8) -> Bool { isStart(byte) || (byte >= 0x30 && byte <= 0x39) }
}
