import EventLoops
import LineEditing
import LuaHost
import Reference

/// Formats single values, as Lua literals where possible.
enum ValueText {
    /// Returns a string in quotes, truncated to a number of characters; unprintable characters are escaped.
    static func quoted(_ string: LuaString, limit: Int) -> (text: String, hidden: Int) {
        guard let text = string.text else { return quotedBytes(string.bytes, limit: limit) }
        var result = "\""
        var count = 0
        var rest = 0
        for scalar in text.unicodeScalars {
            if count == limit {
                rest += 1
                continue
            }
            count += 1
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where ControlCharacters.escape(scalar) != nil:
                result += ControlCharacters.escape(scalar) ?? ""
            case _ where TerminalText.isShown(scalar): result.unicodeScalars.append(scalar)
            default: result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return (result + "\"", rest)
    }

    /// Returns a string as the key of a table: a name unchanged, other strings in brackets.
    static func key(_ string: LuaString) -> String {
        if let text = string.text, isName(text) { return text }
        return "[\(quoted(string, limit: 60).text)]"
    }

    /// Returns a text of several lines unchanged between long brackets; nil for any other string.
    static func longBracket(_ string: LuaString, limit: Int) -> String? {
        guard let text = string.text, text.utf8.contains(UInt8(ascii: "\n")),
            text.utf8.count <= limit * 4, !text.contains("]]"), text.last != "]",
            text.unicodeScalars.allSatisfy({ $0 == "\n" || TerminalText.isShown($0) })
        else { return nil }
        return "[[\n\(text)]]"
    }

    private static func quotedBytes(_ bytes: [UInt8], limit: Int) -> (text: String, hidden: Int) {
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
