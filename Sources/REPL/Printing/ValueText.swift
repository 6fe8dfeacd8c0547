import EventLoops
import LineEditing
import LuaHost
import Reference
import SystemCalls

/// Formats single values, as Lua literals where possible.
enum ValueText {
    /// Returns bytes in quotes, truncated to a number of characters, and the number of bytes after them; unprintable
    /// characters are escaped.
    ///
    /// The cost does not depend on the bytes after the limit.
    static func quoted(_ bytes: some Collection<UInt8>, limit: Int) -> (text: String, hidden: Int) {
        // A character has at most four bytes; the last one may be cut.
        var head = Array(bytes.prefix(4 * limit))
        if head.count < bytes.count, let last = head.lastIndex(where: { $0 & 0xC0 != 0x80 }) {
            head.removeSubrange(last...)
        }
        guard let text = String(validating: head, as: UTF8.self) else {
            return quotedBytes(bytes, limit: limit)
        }
        let shown = text.unicodeScalars.prefix(limit)
        var result = "\""
        for scalar in shown {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where ControlCharacters.escape(scalar) != nil:
                result += ControlCharacters.escape(scalar) ?? ""
            case _ where TerminalText.isShown(scalar): result.unicodeScalars.append(scalar)
            default: result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return (result + "\"", bytes.count - shown.reduce(0) { $0 + UTF8.width($1) })
    }

    /// Returns a string as the key of a table: a name unchanged, other strings in brackets.
    static func key(_ string: LuaString) -> String {
        if string.bytes.count <= 60, let text = string.text, isName(text) { return text }
        let (text, hidden) = quoted(string.bytes, limit: 60)
        return "[\(text)\(hidden > 0 ? "…" : "")]"
    }

    /// Returns a text of several lines unchanged between long brackets; nil for any other string.
    static func longBracket(_ string: LuaString, limit: Int) -> String? {
        guard string.bytes.count <= limit * 4, string.bytes.contains(UInt8(ascii: "\n")),
            let text = string.text, !text.contains("]]"), text.last != "]",
            text.unicodeScalars.allSatisfy({ $0 == "\n" || TerminalText.isShown($0) })
        else { return nil }
        return "[[\n\(text)]]"
    }

    private static func quotedBytes(_ bytes: some Collection<UInt8>, limit: Int) -> (
        text: String, hidden: Int
    ) {
        var result = "\""
        for byte in bytes.prefix(limit) {
            switch byte {
            case UInt8(ascii: "\""): result += "\\\""
            case UInt8(ascii: "\\"): result += "\\\\"
            case UInt8(ascii: "\n"): result += "\\n"
            case 0x20..<0x7F: result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += "\\x" + hexadecimal(byte)
            }
        }
        return (result + "\"", max(0, bytes.count - limit))
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
    }

    /// Returns whether a key is a Lua name, which needs no brackets before `=`.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy(LuaLexer.isNameByte) && !LuaToken.keywords.contains(text)
    }

    /// Returns a number with thousands separators, for counts in remarks.
    static func count(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: position)
            position -= 3
        }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// Returns a number with a noun in the singular or plural.
    static func count(_ number: Int, _ thing: String, _ things: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? thing : things ?? thing + "s")"
    }
}
