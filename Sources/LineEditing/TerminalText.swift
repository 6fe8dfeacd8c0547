import CEdit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Measures text on a terminal.
package enum TerminalText {
    /// Returns the number of columns of a text on one line.
    ///
    /// Control characters and characters without a display form count as one column.
    ///
    /// Usable on any thread: it uses the editor's locale, regardless of the thread's own.
    package static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return withUTF8Locale {
            text.unicodeScalars.reduce(0) { $0 + max(displayWidth($1), $1.value < 0x20 ? 1 : 0) }
        }
    }

    /// Returns the text, truncated with `…` to at most `columns` columns.
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

    /// The first character of sequences that still have to be rendered for a terminal.
    package static let styleMark: Unicode.Scalar = "\u{10FFFD}"

    /// Returns the text without colors and other control sequences.
    package static func plain(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x1B || $0 == 0xF4 }) else { return text }
        var result = ""
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "\u{1B}" || scalar == styleMark else {
                result.unicodeScalars.append(scalar)
                continue
            }
            guard scalars.next() == "[" else { continue }
            // A sequence ends with a letter or with one of a few punctuation characters.
            while let next = scalars.next(), !(0x40...0x7E).contains(next.value) {}
        }
        return result
    }

    /// Returns whether a character has a display form on a terminal.
    ///
    /// Control characters and unknown characters do not.
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

/// Decodes text of libedit, which has one code point per element.
func decodeWide(_ start: UnsafePointer<wchar_t>, _ count: Int) -> String {
    var text = ""
    for element in UnsafeBufferPointer(start: start, count: max(count, 0)) {
        let value = UInt32(truncatingIfNeeded: element)
        text.unicodeScalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
    }
    return text
}

/// Passes text to libedit as a zero-terminated array.
func withWide<Result>(_ text: String, _ body: (UnsafePointer<wchar_t>) -> Result) -> Result {
    let elements = text.unicodeScalars.map { wchar_t($0.value) } + [0]
    // The array is not empty, so it has a base address during this call.
    return elements.withUnsafeBufferPointer { body($0.baseAddress!) }
}

/// Returns the number of columns of a character: 0 for combining ones, 2 for wide ones, -1 for ones without a display
/// form.
func displayWidth(_ scalar: Unicode.Scalar) -> Int {
    Int(shim_character_width(wchar_t(scalar.value)))
}
