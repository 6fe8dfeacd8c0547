/// Makes control characters visible, so that data cannot move a terminal's cursor, clear its screen or set its title.
///
/// All text for terminals passes through it: `ProcessServices.writeError` and `writeOutput` of the tool, and
/// `Style.rendered` of the prompt. It also escapes U+10FFFD, the last character for private use, because the prompt marks
/// its own sequences with it.
package enum ControlCharacters {
    /// Returns a control character as an escape sequence of Lua strings; nil for other characters.
    package static func escape(_ scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "\n": "\\n"
        case "\t": "\\t"
        case "\r": "\\r"
        case "\0": "\\0"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            "\\x" + (scalar.value < 0x10 ? "0" : "")
                + String(scalar.value, radix: 16, uppercase: true)
        case "\u{80}"..."\u{9F}", "\u{10FFFD}":
            "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        default: nil
        }
    }

    /// Returns a text with its control characters escaped; line breaks and tabs only with `onOneLine`.
    package static func escaped(_ text: String, onOneLine: Bool = false) -> String {
        // The escaped characters outside ASCII begin with C2 or F4.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xF4 })
        else {
            return text
        }
        var result = ""
        for scalar in text.unicodeScalars {
            if !onOneLine && (scalar == "\n" || scalar == "\t") {
                result.unicodeScalars.append(scalar)
            } else if let escape = escape(scalar) {
                result += escape
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
