/// The dialect of a CSV file.
///
///     var format = CSVFormat()
///     format.separator = ";"
///     format.nulls = ["NA"]
package struct CSVFormat: Sendable, Equatable {
    /// The character between fields: ASCII, except a quote and a line break.
    ///
    /// Nil for a comma or, if the first line contains no comma, for the most frequent one of `;`, tab and `|` in it.
    package var separator: Character?
    /// The character around quoted fields; nil for files in which quotes have no meaning.
    package var quote: Character? = "\""
    /// Whether the first record names the columns.
    package var hasHeader = true
    /// The number of lines before the header.
    package var skippedLines = 0
    /// Unquoted texts that represent nil, in addition to the empty field.
    package var nulls: [String] = []

    /// Creates a format whose separator is detected, and with double quotes.
    package init() {}

    /// The format of tab-separated values.
    package static var tabs: CSVFormat {
        var format = CSVFormat()
        format.separator = "\t"
        return format
    }

    /// A description of the error in the format; nil if the format is valid.
    package var fault: String? {
        if let separator {
            guard let byte = separator.asciiValue, byte != 0x0A, byte != 0x0D, byte != 0x22 else {
                return "the separator must be one ASCII character, such as ';' or a tab"
            }
        }
        guard let quote else { return nil }
        guard let byte = quote.asciiValue, byte != 0x0A, byte != 0x0D, quote != separator else {
            return "the quote must be one ASCII character other than the separator"
        }
        return nil
    }

    /// Returns the character for an option value: the text itself, or a tab for `\t` and `tab`; nil for other texts.
    package static func character(_ text: String) -> Character? {
        switch text {
        case "\\t", "tab": "\t"
        default: text.count == 1 ? text.first : nil
        }
    }

    /// Returns the name of a column in a file without a header; `index` counts from 0.
    package static func columnName(_ index: Int) -> String { "column_\(index + 1)" }
}

/// Writes comma-separated values (RFC 4180) into bytes.
///
/// A record with a single nil is an empty line. In files of one column, ``CSVReader`` reads it as such a record.
package struct CSVWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []
    private let separator: UInt8
    private var isFirst = true

    /// Creates a writer without content; the separator must be an ASCII character.
    package init(separator: Character = ",") { self.separator = separator.asciiValue ?? 0x2C }

    /// Writes a field: no characters for nil, `""` for the empty text, quotes where they are necessary.
    package mutating func field(_ text: String?) {
        guard var text else { return separate() }
        text.withUTF8 { field($0) }
    }

    /// Writes an integer.
    package mutating func int(_ value: Int64) {
        string(ascii: { $0.append(contentsOf: value.description.utf8) })
    }

    /// Writes a number in the shortest form that is parsed as the same number.
    package mutating func double(_ value: Double) {
        string(ascii: { $0.append(contentsOf: value.description.utf8) })
    }

    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) {
        string(ascii: { $0.append(contentsOf: (value ? "true" : "false").utf8) })
    }

    /// Writes a field of UTF-8 bytes.
    package mutating func string(utf8 text: RawSpan) {
        text.withUnsafeBytes { field($0.bindMemory(to: UInt8.self)) }
    }

    /// Writes a field of ASCII characters that needs no quotes, such as a number or a date; `append` adds it to the
    /// bytes.
    package mutating func string(ascii append: (inout [UInt8]) -> Void) {
        separate()
        let start = bytes.count
        append(&bytes)
        // The separator can be any character, including one that occurs in numbers.
        guard bytes[start...].contains(separator) else { return }
        bytes.insert(0x22, at: start)
        bytes.append(0x22)
    }

    private mutating func separate() {
        if !isFirst { bytes.append(separator) }
        isFirst = false
    }

    private mutating func field(_ text: UnsafeBufferPointer<UInt8>) {
        separate()
        var isPlain = !text.isEmpty
        for byte in text where byte == separator || byte == 0x22 || byte == 0x0A || byte == 0x0D {
            isPlain = false
            break
        }
        if isPlain { return bytes.append(contentsOf: text) }
        bytes.append(0x22)
        for byte in text {
            if byte == 0x22 { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }

    /// Ends a record with CR LF, as the standard requires.
    package mutating func endRecord() {
        bytes.append(contentsOf: [0x0D, 0x0A])
        isFirst = true
    }

    /// Removes the written bytes, after the caller has used them.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
