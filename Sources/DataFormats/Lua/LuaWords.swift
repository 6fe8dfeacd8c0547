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
