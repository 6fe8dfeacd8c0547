extension TextWrap {
    /// Returns the lines of Lua code, and divides those that are wider than the window.
    ///
    /// Each line of the code begins with `indent`. The rest of a divided line begins with `hanging`, which defaults to
    /// two more spaces. A line is divided at spaces outside of strings, if possible between two arguments or
    /// statements. A comment that does not fit after its code gets its own lines.
    package func lines(
        ofCode code: String, indent: String = "", hanging: String? = nil
    ) -> [String] {
        code.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            let text = indent + line
            if width(text) <= columns { return [text] }
            let margin = String(line.prefix { $0 == " " })
            return divided(
                CodeLine(line.dropFirst(margin.count)), indent + margin,
                (hanging ?? indent + "  ") + margin)
        }
    }

    private func divided(_ code: CodeLine, _ indent: String, _ hanging: String) -> [String] {
        var lines: [String] = []
        var margin = indent
        var parts = code.parts[...]
        while !parts.isEmpty {
            let count = fittingCount(parts, columns - width(margin))
            lines.append(margin + parts.prefix(count).map(\.text).joined(separator: " "))
            parts = parts.dropFirst(count)
            margin = hanging
        }
        guard !code.comment.isEmpty else { return lines }
        if let last = lines.last, width(last) + 2 + width(code.comment) <= columns {
            lines[lines.count - 1] = last + "  " + code.comment
            return lines
        }
        return lines + self.lines(code.comment, indent: margin, hanging: margin + "--  ")
    }

    /// Returns how many of the parts to write on one line: those before the best division that fits.
    private func fittingCount(_ parts: ArraySlice<CodeLine.Part>, _ space: Int) -> Int {
        var used = 0
        var best = (count: 1, cost: Int.max)
        for (index, part) in parts.enumerated() {
            used += width(part.text) + (index > 0 ? 1 : 0)
            if used > space { break }
            if index + 1 == parts.count { return parts.count }
            // A line that is less than half full is the last choice.
            let cost = part.cost + (used * 2 < space ? 100 : 0)
            if cost <= best.cost { best = (index + 1, cost) }
        }
        return best.count
    }
}

/// A line of Lua code, divided into the parts between its spaces, and its comment.
private struct CodeLine {
    struct Part {
        var text: String
        /// How much a division after the part would separate what belongs together.
        var cost = 0
    }

    private(set) var parts: [Part] = []
    private(set) var comment = ""

    /// Words that belong to the parts before and after them.
    private static let infix: Set<String> = [
        "=", "==", "~=", "<", ">", "<=", ">=", "..", "+", "-", "*", "/", "%", "and", "or", "in",
    ]
    /// Words that belong to the part after them.
    private static let prefix: Set<String> = [
        "not", "local", "return", "if", "while", "for", "function",
    ]

    init(_ line: Substring) {
        var quote: Character?
        var depth = 0
        var word = ""
        var rest = line
        func takeWord() {
            if !word.isEmpty { parts.append(Part(text: word, cost: depth * 2)) }
            word = ""
        }
        while let character = rest.first {
            if quote == nil, rest.hasPrefix("--") { break }
            rest = rest.dropFirst()
            switch character {
            case "\\" where quote != nil:
                word.append(character)
                if let escaped = rest.popFirst() { word.append(escaped) }
                continue
            case _ where quote != nil: if character == quote { quote = nil }
            case "\"", "'": quote = character
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            case " ":
                takeWord()
                continue
            default: break
            }
            word.append(character)
        }
        takeWord()
        comment = String(rest)
        for index in parts.indices.dropLast() {
            let (text, next) = (parts[index].text, parts[index + 1].text)
            if Self.infix.contains(next) || next == "<close>" || next == "<const>" {
                parts[index].cost += 4
            } else if Self.infix.contains(text) || Self.prefix.contains(text)
                || Self.isCall(text, next)
            {
                parts[index].cost += 3
            }
        }
    }

    /// Whether the second part is the argument of a call that the first part ends, as in `f { 1 }`.
    private static func isCall(_ text: String, _ next: String) -> Bool {
        guard let last = text.last, let first = next.first else { return false }
        return "{(\"'".contains(first) && (last.isLetter || last.isNumber || ")]_".contains(last))
    }
}
