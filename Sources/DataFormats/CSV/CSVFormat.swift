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
