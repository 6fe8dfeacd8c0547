import Charts
import EventLoops
import LineEditing
import SystemCalls

/// Colors of the prompt and of printed values; without color sequences if colors are off.
package struct Style: Sendable {
    /// The role of a piece of text.
    enum Role: String, CaseIterable, Sendable {
        case plain, string, number, word, key, type, dim, error, strong, location
        case added, changed, removed, struck
    }

    /// Whether colors are on.
    let isColored: Bool

    /// Creates a style with or without colors.
    package init(isColored: Bool) { self.isColored = isColored }

    /// The style without colors, for files, pipes, `NO_COLOR` and tests.
    package static let plain = Style(isColored: false)

    /// The first character of the sequences of a style, in place of the escape character, which data can contain.
    ///
    /// `rendered` replaces it.
    static let mark = TerminalText.styleMark

    /// Returns a text for the terminal: control characters of data are escaped, sequences of a style take effect.
    ///
    /// Data may contain the mark, so it begins only the sequences that a style has: colors, and erasing an empty line.
    static func rendered(_ text: String, onOneLine: Bool = false) -> String {
        var result = ""
        let parts = text.unicodeScalars.split(separator: mark, omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let end = part.dropFirst().first { !("0"..."9" ~= $0 || $0 == ";") }
            let isStyle =
                part.first == "[" && (end == "m" || part.starts(with: "[K".unicodeScalars))
            if index > 0 { result += isStyle ? "\u{1B}" : "\\u{10FFFD}" }
            result += ControlCharacters.escaped(String(part), onOneLine: onOneLine)
        }
        return result
    }

    /// Returns a text with the color sequences of its role.
    func paint(_ text: String, _ role: Role) -> String {
        guard let code = code(role), !text.isEmpty else { return text }
        return "\(Self.mark)[\(code)m\(text)\(Self.mark)[0m"
    }

    /// Colors of data series, chosen for contrast with their neighbors.
    private static let series = ["36", "33", "35", "32", "34", "31", "96", "93"]

    /// Returns the style of charts in a window.
    func chart(columns: Int, rows: Int) -> ChartStyle {
        ChartStyle(
            columns: columns, rows: rows, isColored: isColored, width: TerminalText.width
        ) { text, ink in
            switch ink {
            case .axis: paint(text, .dim)
            case .title: paint(text, .strong)
            case .name: paint(text, .key)
            case .detail: paint(text, .string)
            case .series(let index):
                isColored && !text.isEmpty
                    ? "\(Self.mark)[\(Self.series[index % Self.series.count])m\(text)\(Self.mark)[0m"
                    : text
            }
        }
    }

    /// Returns the numbers of a color's SGR sequence; nil without colors.
    func code(_ role: Role) -> String? { isColored ? Self.code(role) : nil }

    // The eight basic colors follow the user's own scheme, light or dark.
    private static func code(_ role: Role) -> String? {
        switch role {
        case .plain: nil
        case .string: "32"
        case .number: "36"
        case .word: "35"
        case .key: "34"
        case .type: "33"
        case .dim: "2"
        case .error: "31"
        case .strong: "1"
        case .location: "36"
        case .added: "32"
        case .changed: "33"
        case .removed: "31"
        case .struck: "2;9;31"
        }
    }
}
