/// A token of Lua source.
package struct LuaToken: Equatable, Sendable {
    /// The kind of token.
    package enum Kind: Equatable, Sendable {
        /// A name.
        case name
        /// A keyword.
        case keyword
        /// A number.
        case number
        /// A quoted or long string; `isClosed` is false if the text ends inside it.
        case string(isClosed: Bool)
        /// An operator or a bracket, or a character that Lua does not use.
        case symbol
        /// A comment; `isClosed` is false if the text ends inside it.
        case comment(isClosed: Bool)
    }

    /// The kind of token.
    package var kind: Kind
    /// The range in the UTF-8 bytes of the source.
    package var range: Range<Int>
    /// The text of the token.
    package var text: String

    /// Returns whether the token is this keyword.
    package func isKeyword(_ word: String) -> Bool { kind == .keyword && text == word }

    /// Returns whether the token is this operator or bracket.
    package func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }

    /// The keywords of Lua.
    package static let keywords: Set<String> = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ]
}

/// Splits Lua source into tokens.
///
/// Accepts any input; every byte except whitespace is part of a token.
package struct LuaLexer {
    private let bytes: [UInt8]
    private var position = 0

    /// Returns the tokens of a source, without comments.
    package static func tokens(of source: String) -> [LuaToken] {
        allTokens(of: source).filter {
            if case .comment = $0.kind { false } else { true }
        }
    }

    /// Returns the tokens of a source, including comments.
    package static func allTokens(of source: String) -> [LuaToken] {
        var lexer = LuaLexer(bytes: Array(source.utf8))
        var tokens: [LuaToken] = []
        while let token = lexer.next() { tokens.append(token) }
        return tokens
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func byte(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private func isAt(_ text: StaticString) -> Bool {
        let wanted = Array(text.description.utf8)
        return bytes[position...].starts(with: wanted)
    }

    private mutating func next() -> LuaToken? {
        while let first = byte(), " \t\r\n\u{B}\u{C}".utf8.contains(first) { position += 1 }
        guard let first = byte() else { return nil }
        let start = position
        let kind = scan(first)
        assert(position > start && position <= bytes.count, "a token has at least one byte")
        let range = start..<position
        var text = ""
        if kind == .name {
            text = String(decoding: bytes[range], as: UTF8.self)
            return LuaToken(
                kind: LuaToken.keywords.contains(text) ? .keyword : .name, range: range, text: text)
        }
        text = String(decoding: bytes[range], as: UTF8.self)
        return LuaToken(kind: kind, range: range, text: text)
    }

    private mutating func scan(_ first: UInt8) -> LuaToken.Kind {
        switch first {
        case _ where Self.isNameByte(first) && !Self.isDigit(first):
            while let next = byte(), Self.isNameByte(next) { position += 1 }
            return .name
        case _ where Self.isDigit(first), UInt8(ascii: ".") where byte(1).map(Self.isDigit) == true:
            scanNumber()
            return .number
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return .string(isClosed: scanQuoted(first))
        case UInt8(ascii: "[") where longBracketLevel() != nil:
            return .string(isClosed: scanLong())
        case UInt8(ascii: "-") where byte(1) == first:
            position += 2
            if byte() == UInt8(ascii: "["), longBracketLevel() != nil {
                return .comment(isClosed: scanLong())
            }
            while let next = byte(), next != UInt8(ascii: "\n") { position += 1 }
            return .comment(isClosed: byte() != nil)
        default:
            for symbol: StaticString in [
                "...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>",
            ] where isAt(symbol) {
                position += symbol.utf8CodeUnitCount
                return .symbol
            }
            position += 1
            // The remaining bytes of a character that Lua does not use belong to the same token.
            if first >= 0x80 { while let next = byte(), next & 0xC0 == 0x80 { position += 1 } }
            return .symbol
        }
    }

    private mutating func scanNumber() {
        let isHexadecimal =
            byte() == UInt8(ascii: "0") && (byte(1) ?? 0) | 0x20 == UInt8(ascii: "x")
        let exponent: UInt8 = isHexadecimal ? UInt8(ascii: "p") : UInt8(ascii: "e")
        while let next = byte() {
            if next | 0x20 == exponent, let sign = byte(1), "+-".utf8.contains(sign) {
                position += 2
            } else if Self.isNameByte(next) || next == UInt8(ascii: ".") {
                position += 1
            } else {
                return
            }
        }
    }

    private mutating func scanQuoted(_ quote: UInt8) -> Bool {
        position += 1
        while let next = byte() {
            position += 1
            if next == quote { return true }
            if next == UInt8(ascii: "\n") {
                position -= 1
                return false
            }
            guard next == UInt8(ascii: "\\"), let escaped = byte() else { continue }
            position += 1
            // The escape `\z` skips the line breaks that follow it.
            if escaped == UInt8(ascii: "z") {
                while let blank = byte(), " \t\r\n\u{B}\u{C}".utf8.contains(blank) { position += 1 }
            }
        }
        return false
    }

    /// Returns the number of `=` between the brackets of `[==[`; nil for other text.
    private func longBracketLevel() -> Int? {
        var level = 0
        while byte(1 + level) == UInt8(ascii: "=") { level += 1 }
        return byte(1 + level) == UInt8(ascii: "[") ? level : nil
    }

    private mutating func scanLong() -> Bool {
        let level = longBracketLevel() ?? 0
        position += level + 2
        let close = UInt8(ascii: "]")
        while position < bytes.count {
            if byte() == close, byte(level + 1) == close,
                bytes[(position + 1)..<(position + 1 + level)].allSatisfy({
                    $0 == UInt8(ascii: "=")
                })
            {
                position += level + 2
                return true
            }
            position += 1
        }
        return false
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns whether a byte can be part of a name.
    package static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == 0x5F || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}
