import EventLoops
import Reference
import SystemCalls

/// Wraps the help and the errors of commands at the width of the terminal.
///
///     HelpLines(columns: 60).wrapped("USAGE: moonpool export <store> <file> [--class <class>] …")
///
/// ArgumentParser wraps descriptions, but not usage lines and errors.
struct HelpLines {
    /// The width of the terminal.
    let columns: Int

    /// Creates a wrapper for lines of at most `columns` columns.
    init(columns: Int) { self.columns = columns }

    /// Creates a wrapper with the width of a terminal, or of the variable COLUMNS if it is set; 80 columns if both are
    /// missing.
    init(descriptor: Int32) {
        columns =
            ProcessServices.environment("COLUMNS").flatMap { Int($0) }
            ?? Descriptor.windowSize(descriptor)?.columns ?? 80
    }

    /// Returns the text with its long lines wrapped.
    func wrapped(_ text: String) -> String {
        let wrap = TextWrap(columns: columns)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            guard line.count > columns else { return [String(line)] }
            let margin = String(line.prefix { $0 == " " })
            let isUsage = line.lowercased().hasPrefix(Self.usage)
            let hanging =
                margin + (isUsage ? String(repeating: " ", count: Self.usage.count) : "  ")
            return wrap.lines(
                isUsage ? Self.joiningOptions(line) : String(line.dropFirst(margin.count)),
                indent: margin, hanging: hanging
            ).map { $0.map { $0 == Self.joint ? " " : String($0) }.joined() }
        }.joined(separator: "\n")
    }

    private static let usage = "usage: "
    private static let joint: Character = "\u{A0}"

    /// Joins the words of each option in brackets, so that a line break does not split the option.
    private static func joiningOptions(_ line: Substring) -> String {
        var depth = 0
        return String(
            line.map { character -> Character in
                if character == "[" { depth += 1 }
                if character == "]" { depth -= 1 }
                return character == " " && depth > 0 ? joint : character
            })
    }
}
