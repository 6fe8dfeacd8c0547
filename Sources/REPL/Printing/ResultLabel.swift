import LineEditing

/// The name of a numbered result, such as `_12`, at the right edge of the window.
enum ResultLabel {
    /// A sequence before each label, so that output to files can omit the label.
    ///
    /// It erases the rest of the line, which is empty.
    private static let erasing = "[K"

    /// Adds the label to the first line of a text that has space for it, or to the last one.
    static func adding(_ number: Int, to text: String, columns: Int, style: Style) -> String {
        let label = "_\(number)"
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for index in [0, lines.count - 1] {
            let width = TerminalText.width(TerminalText.plain(lines[index]))
            let padding = columns - 1 - label.count - width
            guard padding >= 2 else { continue }
            lines[index] +=
                "\(Style.mark)\(erasing)\(String(repeating: " ", count: padding))\(style.paint(label, .dim))"
            return lines.joined(separator: "\n")
        }
        return text
    }

    /// Returns a text without labels.
    static func removing(from text: String) -> String {
        let mark = "\u{1B}" + erasing
        guard text.contains(mark) else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.firstRange(of: mark).map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: "\n")
    }
}
