/// Reads rows from Lua source that contains only data, without running it.
///
/// Accepts the form of ``LuaDataText``, rows as calls (`Dog {id = 1, name = "Rex"}`), and a file that returns a table:
/// a list of rows, or a list of rows for each name. Values are literals and tables of literals; anything else is an
/// error. Memory use depends on the largest row. Confined to one thread.
package final class LuaDataReader: RowReader {
    package private(set) var section: String?

    private enum State {
        case statements
        /// Before a field of the returned table.
        case returned(isFirst: Bool)
        /// Before a row of a named list in the returned table.
        case list(isFirst: Bool)
        case ended
    }

    private let bytes: ByteStream
    private let values: LuaValueReader
    private var state = State.statements
    private var hasStarted = false

    /// Creates a reader for the rows of a file.
    package init(_ file: FileReader) {
        bytes = ByteStream(file)
        values = LuaValueReader(bytes)
    }

    package var tape: JSONTape { values.tape }

    /// The current line, starting at 1.
    package var line: Int { bytes.line }

    /// The row as JSON on one line, which an import of JSON Lines accepts.
    package var record: [UInt8] {
        var json = JSONWriter()
        JSONNode(tape).write(to: &json)
        return json.bytes
    }

    /// Advances to the next row; returns false after the last one.
    ///
    /// Throws a `FormatError` for source that is not data.
    package func next() throws -> Bool {
        tape.clear()
        if !hasStarted { try start() }
        while true {
            switch state {
            case .statements: if try statement() { return true }
            case .returned(let isFirst): if try returnedField(isFirst) { return true }
            case .list(let isFirst): if try listElement(isFirst) { return true }
            case .ended:
                if try bytes.peek() == 0x3B { bytes.advance() }
                try values.skipSpace()
                guard try bytes.peek() == nil else { throw refusal("the end of the file") }
                return false
            }
        }
    }

    private func start() throws {
        hasStarted = true
        try bytes.skipByteOrderMark()
        guard try bytes.peek() == 0x23 else { return }
        while let byte = try bytes.peek(), byte != 0x0A { bytes.advance() }
    }

    /// Reads a statement; returns whether it is a row.
    private func statement() throws -> Bool {
        try values.skipSpace()
        guard let byte = try bytes.peek() else {
            state = .ended
            return false
        }
        if byte == 0x3B {
            bytes.advance()
            return false
        }
        guard LuaWords.isStart(byte) else { throw refusal("a row") }
        let word = try values.name()
        switch word {
        case "local": try expect(LuaDataText.afterLocal)
        case "do": try expect(LuaDataText.afterDo)
        case "end": try expect(LuaDataText.afterEnd)
        case "return": try startReturned()
        case "_ENV":
            try values.expect(0x5B, "[")
            try values.skipSpace()
            let name = try values.string()
            try values.expect(0x5D, "]")
            return try row(LuaDataText.className(name))
        case "schema": return try row("$schema")
        default:
            guard LuaWords.isName(word) else { throw program() }
            return try row(word)
        }
        return false
    }

    private func expect(_ text: [UInt8]) throws {
        guard try bytes.skip(text) else { throw program() }
    }

    private func row(_ name: String) throws -> Bool {
        try values.skipSpace()
        guard try bytes.peek() == 0x7B else { throw program() }
        return try value(in: name)
    }

    private func value(in section: String?) throws -> Bool {
        self.section = section
        try values.value()
        return true
    }

    // MARK: A returned table

    private func startReturned() throws {
        try values.skipSpace()
        if try bytes.peek() == 0x7B {
            bytes.advance()
            state = .returned(isFirst: true)
            return
        }
        // `return data` is the last line in the form with calls.
        guard try values.name() == "data" else { throw refusal("a table") }
        try end()
    }

    private func end() throws {
        try values.skipSpace()
        state = .ended
    }

    /// Reads up to the next field of the returned table; returns whether it is a row.
    private func returnedField(_ isFirst: Bool) throws -> Bool {
        guard let field = try values.nextField(isFirst) else {
            try end()
            return false
        }
        state = .returned(isFirst: false)
        guard case .named(let name) = field else { return try value(in: nil) }
        if name == "schema" { return try value(in: "$schema") }
        guard try bytes.peek() == 0x7B else { throw refusal("a list of rows for '\(name)'") }
        bytes.advance()
        section = LuaDataText.className(name)
        state = .list(isFirst: true)
        return false
    }

    /// Reads up to the next row of a named list; returns whether there is one.
    private func listElement(_ isFirst: Bool) throws -> Bool {
        guard let field = try values.nextField(isFirst) else {
            state = .returned(isFirst: false)
            return false
        }
        guard case .element = field else {
            throw refusal("a list of rows for '\(section ?? "")'")
        }
        state = .list(isFirst: false)
        return try value(in: section)
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

    /// The name of the rows of a class in the returned table, where `schema` is the schema.
    package static func rowsName(_ className: String) -> String {
        className == "schema" ? "class schema" : className
    }

    /// Returns the class with this name of its rows.
    static func className(_ rowsName: String) -> String {
        rowsName == "class schema" ? "schema" : rowsName
    }

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
    private let buffer: InputBuffer
    /// The line of the current byte, starting at 1.
    private(set) var line = 1

    init(_ file: FileReader) { buffer = InputBuffer(file) }

    /// Skips a byte order mark at the beginning of the file.
    func skipByteOrderMark() throws { try buffer.skipByteOrderMark() }

    /// Returns the next byte, or the one at an offset from it, without consuming bytes; nil at the end.
    @inline(__always)
    func peek(_ offset: Int = 0) throws -> UInt8? {
        if let byte = buffer.byte(offset) { return byte }
        while try buffer.fill() { if let byte = buffer.byte(offset) { return byte } }
        return nil
    }

    /// Consumes the next byte.
    @inline(__always)
    func advance() {
        if buffer.byte(0) == 0x0A { line += 1 }
        buffer.consume(1)
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
        while buffer.bytes.count < text.count, try buffer.fill() {}
        guard buffer.bytes.starts(with: text) else { return false }
        for _ in text { advance() }
        return true
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
