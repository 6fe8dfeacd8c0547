import CEdit

/// How much room text takes on a terminal.
package enum TerminalText {
    /// The columns that a text takes, all on one line.
    ///
    /// Control characters and what cannot be shown count as one.
    ///
    /// Any thread: it works by the locale that the editor uses, whatever the thread's own.
    package static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return withUTF8Locale {
            text.unicodeScalars.reduce(0) { $0 + max(displayWidth($1), $1.value < 0x20 ? 1 : 0) }
        }
    }

    /// The text, or its beginning with `…` after it, in at most so many columns.
    package static func truncate(_ text: String, to columns: Int) -> String {
        if text.utf8.count <= columns || width(text) <= columns { return text }
        guard columns > 0 else { return "" }
        return withUTF8Locale {
            var result = ""
            var used = 0
            for character in text {
                let width = character.unicodeScalars.reduce(0) { $0 + max(displayWidth($1), 0) }
                if used + width > columns - 1 { break }
                used += width
                result.append(character)
            }
            return result + "…"
        }
    }

    /// The text without colours and other control sequences of a terminal.
    package static func plain(_ text: String) -> String {
        guard text.utf8.contains(0x1B) else { return text }
        var result = ""
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "\u{1B}" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            guard scalars.next() == "[" else { continue }
            // A sequence ends with a letter or with one of a few signs.
            while let next = scalars.next(), !(0x40...0x7E).contains(next.value) {}
        }
        return result
    }

    /// Whether the character takes room of its own on a terminal; control characters and unknown ones do not.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        return withUTF8Locale { displayWidth(scalar) >= 0 }
    }

    private static func withUTF8Locale<Result>(_ body: () -> Result) -> Result {
        let before = shim_enter_utf8()
        defer { shim_leave_utf8(before) }
        return body()
    }
}
