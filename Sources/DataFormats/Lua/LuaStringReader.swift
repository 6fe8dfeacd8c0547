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
        guard try bytes.peek() == 0x5B, let second = try bytes.peekSecond() else { return false }
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
