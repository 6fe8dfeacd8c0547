/// Reads Lua literals onto a tape.
final class LuaValueReader {
    let tape = JSONTape()
    private let bytes: ByteStream
    private let strings: LuaStringReader
    private var depth = 0
    /// The first word of a value, if it was read to find out whether it is a field name.
    private var word: String?

    init(_ bytes: ByteStream) {
        self.bytes = bytes
        strings = LuaStringReader(bytes)
    }

    // MARK: Between values

    /// Skips whitespace and comments.
    func skipSpace() throws {
        while let byte = try bytes.peek() {
            switch byte {
            case 0x20, 0x09...0x0D: bytes.advance()
            case 0x2D:
                guard try bytes.skip([0x2D, 0x2D]) else { return }
                try skipComment()
            default: return
            }
        }
    }

    private func skipComment() throws {
        if try strings.long() != nil { return }
        while let byte = try bytes.peek(), byte != 0x0A { bytes.advance() }
    }

    /// Consumes one character and the whitespace before it.
    func expect(_ byte: UInt8, _ shown: String) throws {
        try skipSpace()
        guard try bytes.peek() == byte else { throw fault("expected '\(shown)'") }
        bytes.advance()
    }

    /// Returns a name or a keyword; empty if the next token is neither.
    func name() throws -> String {
        var word: [UInt8] = []
        while let byte = try bytes.peek(), LuaWords.isPart(byte) {
            word.append(byte)
            bytes.advance()
        }
        return String(decoding: word, as: UTF8.self)
    }

    /// Returns the text of a quoted string.
    func string() throws -> String {
        guard let text = try strings.quoted() else { throw fault("expected a string") }
        return try utf8(text)
    }

    private func utf8(_ text: [UInt8]) throws -> String {
        guard let text = String(validating: text, as: UTF8.self) else {
            throw fault("the string is not UTF-8; data is written as base64 text")
        }
        return text
    }

    func fault(_ reason: String) -> FormatError { FormatError(line: bytes.line, reason) }

    // MARK: Values

    /// Reads one value.
    func value() throws {
        if let word {
            self.word = nil
            return try constant(word)
        }
        try skipSpace()
        guard let byte = try bytes.peek() else { throw fault("the text ends too early") }
        switch byte {
        case 0x7B: try table()
        case 0x22, 0x27, 0x5B: try text()
        case 0x30...0x39, 0x2E, 0x2D: try number()
        case 0x28:
            bytes.advance()
            try number()
            try expect(0x29, ")")
        default: try constant(try name())
        }
    }

    private func constant(_ word: String) throws {
        switch word {
        case "nil": tape.add(.null)
        case "true": tape.add(.truth)
        case "false": tape.add(.falsehood)
        case "math": try huge("inf")
        default:
            throw fault("expected a literal value" + (word.isEmpty ? "" : ", got '\(word)'"))
        }
    }

    private func text() throws {
        let text: [UInt8]
        if let quoted = try strings.quoted() {
            text = quoted
        } else if let long = try strings.long() {
            text = long
        } else {
            throw fault("expected a string")
        }
        _ = try utf8(text)
        text.withUnsafeBufferPointer { tape.add(.string, $0) }
    }

    private func table() throws {
        guard depth < JSONLimits.depth else {
            throw fault("values are nested more than \(JSONLimits.depth) deep")
        }
        depth += 1
        defer { depth -= 1 }
        bytes.advance()
        let start = tape.count
        var isList: Bool?
        tape.add(.array)
        while let field = try nextField(isList == nil) {
            var isElement = true
            if case .named(let name) = field {
                isElement = false
                tape.append(name: name)
            }
            guard isList ?? isElement == isElement else {
                throw fault("a table can contain a list or named values, not both")
            }
            isList = isElement
            try value()
        }
        if isList == false { tape.become(.object, at: start) }
        tape.close(start)
    }

    /// A field of a table, whose value comes next.
    enum Field {
        case element
        case named(String)
    }

    /// Advances to the next field of a table whose opening brace has been consumed; returns nil after the last one.
    ///
    /// The value of the previous field must have been read, unless the field is the first one.
    func nextField(_ isFirst: Bool) throws -> Field? {
        try skipSpace()
        if !isFirst, let byte = try bytes.peek(), byte != 0x7D {
            guard byte == 0x2C || byte == 0x3B else { throw fault("expected ',' or '}'") }
            bytes.advance()
            try skipSpace()
        }
        guard let byte = try bytes.peek() else { throw fault("a table has no closing brace") }
        if byte == 0x7D {
            bytes.advance()
            return nil
        }
        if byte == 0x5B, try !strings.isLong() {
            bytes.advance()
            try skipSpace()
            let name = try string()
            try expect(0x5D, "]")
            try expect(0x3D, "=")
            try skipSpace()
            return .named(name)
        }
        guard LuaWords.isStart(byte) else { return .element }
        let first = try name()
        try skipSpace()
        guard LuaWords.isName(first), try bytes.peek() == 0x3D else {
            word = first
            return .element
        }
        bytes.advance()
        try skipSpace()
        return .named(first)
    }

    // MARK: Numbers

    /// Reads a number with its sign; `0/0` is NaN.
    private func number() throws {
        try skipSpace()
        var isNegative = false
        if try bytes.peek() == 0x2D {
            bytes.advance()
            isNegative = true
            try skipSpace()
        }
        if try bytes.peek() == 0x6D {
            _ = try name()
            return try huge(isNegative ? "-inf" : "inf")
        }
        var digits: [UInt8] = []
        while let byte = try bytes.peek() {
            let follows = digits.last.map { [0x65, 0x45, 0x70, 0x50].contains($0) } ?? false
            let isSign = follows && (byte == 0x2B || byte == 0x2D)
            guard LuaWords.isPart(byte) || byte == 0x2E || isSign else { break }
            digits.append(byte)
            bytes.advance()
        }
        try skipSpace()
        if digits == [0x30], try bytes.peek() == 0x2F {
            bytes.advance()
            try skipSpace()
            guard try bytes.next() == 0x30 else { throw fault("expected a literal value") }
            return add(real: "nan")
        }
        try add(String(decoding: digits, as: UTF8.self), isNegative)
    }

    private func add(_ text: String, _ isNegative: Bool) throws {
        let sign = isNegative ? "-" : ""
        if text.lowercased().hasPrefix("0x") {
            let digits = text.dropFirst(2)
            if let bits = UInt64(digits, radix: 16) {
                // In Lua, hexadecimal integers wrap around.
                let value = Int64(bitPattern: bits)
                return tape.add(.int, isNegative ? 0 &- value : value)
            }
            // Hexadecimal floats in Lua need no exponent, but those in Swift do.
            let float = digits.contains { $0 == "p" || $0 == "P" } ? text : text + "p0"
            guard let value = Double(float) else { throw malformed(text) }
            return add(real: sign + value.description)
        }
        guard let first = text.utf8.first, first == 0x2E || first >= 0x30 && first <= 0x39,
            let value = Double(text.hasPrefix(".") ? "0" + text : text.replacing(".e", with: "e"))
                ?? Double(text + "0")
        else { throw malformed(text) }
        let isWhole = text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
        if isWhole, let whole = Int64(sign + text), isNegative ? whole != .min : true {
            return tape.add(.int, whole)
        }
        // The digits are kept for decimals. An integer that is too large is a float in Lua.
        add(real: sign + (isWhole || !value.isFinite ? value.description : text))
    }

    private func malformed(_ text: String) -> FormatError {
        fault("'\(text)' is not a valid number")
    }

    private func add(real text: String) {
        Array(text.utf8).withUnsafeBufferPointer { tape.add(.real, $0) }
    }

    private func huge(_ text: String) throws {
        try expect(0x2E, ".")
        guard try name() == "huge" else { throw fault("expected a literal value") }
        add(real: text)
    }
}

/// Reads Lua strings: quoted strings with escapes, and long strings in brackets.
struct LuaStringReader {
    private let bytes: ByteStream

    init(_ bytes: ByteStream) { self.bytes = bytes }

    private func fault(_ reason: String) -> FormatError {
        FormatError(line: bytes.line, reason)
    }

    // MARK: Quotes

    /// Returns the bytes of a quoted string.
    ///
    /// Returns nil, without consuming bytes, if no quoted string comes next.
    func quoted() throws -> [UInt8]? {
        guard let quote = try bytes.peek(), quote == 0x22 || quote == 0x27 else { return nil }
        bytes.advance()
        var text: [UInt8] = []
        while let byte = try bytes.next() {
            switch byte {
            case quote: return text
            case 0x5C: try escape(&text)
            case 0x0A, 0x0D: throw fault("a string has no closing quote")
            default: text.append(byte)
            }
        }
        throw fault("a string has no closing quote")
    }

    private func escape(_ text: inout [UInt8]) throws {
        guard let byte = try bytes.next() else { throw fault("a string has no closing quote") }
        switch byte {
        case 0x6E, 0x0A: text.append(0x0A)
        case 0x74: text.append(0x09)
        case 0x72: text.append(0x0D)
        case 0x22, 0x27, 0x5C: text.append(byte)
        case 0x61: text.append(0x07)
        case 0x62: text.append(0x08)
        case 0x66: text.append(0x0C)
        case 0x76: text.append(0x0B)
        case 0x78:
            guard let high = try hexDigit(), let low = try hexDigit() else { throw badEscape() }
            text.append(UInt8(high * 16 + low))
        case 0x7A:
            while let space = try bytes.peek(), space == 0x20 || (0x09...0x0D).contains(space) {
                bytes.advance()
            }
        case 0x75: try scalar(&text)
        case 0x30...0x39:
            var code = Int(byte - 0x30)
            for _ in 0..<2 {
                guard let digit = try bytes.peek(), (0x30...0x39).contains(digit) else { break }
                code = code * 10 + Int(digit - 0x30)
                bytes.advance()
            }
            guard code < 256 else { throw badEscape() }
            text.append(UInt8(code))
        default: throw badEscape()
        }
    }

    /// Reads `{XXX}` after `\u`.
    private func scalar(_ text: inout [UInt8]) throws {
        guard try bytes.next() == 0x7B else { throw badEscape() }
        var code: UInt32 = 0
        while let byte = try bytes.peek(), byte != 0x7D {
            guard let digit = try hexDigit(), code < 0x110000 else { throw badEscape() }
            code = code * 16 + UInt32(digit)
        }
        guard try bytes.next() == 0x7D, let scalar = Unicode.Scalar(code) else {
            throw badEscape()
        }
        text += UTF8.encode(scalar).map(Array.init) ?? []
    }

    private func hexDigit() throws -> Int? {
        guard let byte = try bytes.next() else { return nil }
        return Character(Unicode.Scalar(byte)).hexDigitValue
    }

    private func badEscape() -> FormatError { fault("a string has an invalid escape") }

    // MARK: Brackets

    /// Returns whether a long string comes next.
    func isLong() throws -> Bool {
        guard try bytes.peek() == 0x5B, let second = try bytes.peek(1) else { return false }
        return second == 0x5B || second == 0x3D
    }

    /// Returns the bytes of a long string.
    ///
    /// Returns nil, without consuming bytes, if no long string comes next.
    func long() throws -> [UInt8]? {
        guard try isLong() else { return nil }
        bytes.advance()
        var level = 0
        while try bytes.peek() == 0x3D {
            level += 1
            bytes.advance()
        }
        guard try bytes.next() == 0x5B else { throw fault("expected a long string") }
        // A line break directly after the brackets is not part of the string.
        if try bytes.peek() == 0x0D { bytes.advance() }
        if try bytes.peek() == 0x0A { bytes.advance() }
        let end = [0x5D] + [UInt8](repeating: 0x3D, count: level) + [0x5D]
        var text: [UInt8] = []
        while let byte = try bytes.peek() {
            if byte == 0x5D, try bytes.skip(end) { return text }
            text.append(byte)
            bytes.advance()
        }
        throw fault("a long string has no end")
    }
}
