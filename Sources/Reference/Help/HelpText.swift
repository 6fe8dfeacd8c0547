import ObjectStore

/// Formats help on the Lua API, generated from the catalog.
package struct HelpText: Sendable {
    /// The role of a piece of help, which determines its color.
    package enum Role: Sendable {
        case title, signature, example
    }

    private let paint: @Sendable (String, Role) -> String
    private let wrap: TextWrap

    /// Creates a formatter for a window of `columns` columns; `paint` colors the parts.
    package init(
        columns: Int = 100,
        paint: @escaping @Sendable (String, Role) -> String = { text, _ in text }
    ) {
        self.paint = paint
        wrap = TextWrap(columns: columns)
    }

    /// Returns help on a name such as `where`, `Results.where`, `store`, `moonpool.open` or `not_in_write`.
    ///
    /// Returns nil if the name is unknown. The text ends with a newline.
    package func page(on text: String) -> String? {
        if let type = HelpCatalog.type(named: text) { return page(on: type) }
        let found = HelpCatalog.find(text)
        if !found.isEmpty {
            return found.map { page(on: $0, as: text) }.joined(separator: "\n")
        }
        return HelpCatalog.errors.first { $0.name == text }.map(page)
    }

    /// All names that have help, for completion.
    package static let names: [String] = Array(
        Set(
            HelpCatalog.types.map(\.name) + HelpCatalog.entries.map(\.name)
                + HelpCatalog.errors.map(\.name))
    ).sorted()

    /// Returns the known name that is most similar to a misspelled one.
    package static func nearest(to text: String, besides others: [String] = []) -> String? {
        let last = text.split(whereSeparator: { $0 == "." || $0 == ":" }).last.map(String.init)
        return NearestName.find(last ?? text, among: names + others)
    }

    // MARK: - Pages

    /// Returns help on a type: its summary, members and example.
    package func page(on type: HelpType) -> String {
        var text = titled(type.name, type.summary)
        let entries = HelpCatalog.entries(of: type)
        let rows = entries.map { entry in
            (name: (type == HelpCatalog.prompt ? "" : entry.separator) + entry.name, entry: entry)
        }
        let lines = wrap.definitions(
            rows.map { ($0.name, $0.entry.summary) }, indent: "  "
        ) { paint($0, .signature) }
        text += lines.map { $0 + "\n" }.joined()
        if let parent = type.parent { text += "  and all members of \(parent)\n" }
        if !type.example.isEmpty { text += "\n" + example(type.example) }
        return text
    }

    /// Returns help on one name: signatures, summary, errors and example.
    private func page(on entry: HelpEntry, as text: String) -> String {
        let owner = self.owner(of: entry, as: text)
        var lines: [String] = []
        switch entry.kind {
        case .field(let type, let isWritable):
            let signature = "\(owner.prefix("."))\(entry.name): \(HelpText.type(type, of: owner))"
            lines += painted(signature + (isWritable ? " (writable)" : ""))
        case .function, .method:
            for signature in entry.signatures {
                lines += painted(
                    owner.prefix(entry.separator) + entry.name
                        + HelpText.text(of: signature, for: owner))
            }
        }
        let others = entry.owners.filter { $0 != owner }.map(\.name)
        if !others.isEmpty {
            lines += wrap.lines(
                "also a member of \(others.joined(separator: ", "))", indent: "  ", hanging: "    ")
        }
        lines += wrap.lines(entry.summary, indent: "    ")
        if !entry.errors.isEmpty {
            let codes = entry.errors.joined(separator: ", ")
            lines += wrap.lines("Errors: \(codes)", indent: "    ", hanging: "      ")
        }
        var text = lines.joined(separator: "\n") + "\n"
        let shown = entry.example.isEmpty ? owner.example : entry.example
        if !shown.isEmpty { text += "\n" + example(shown) }
        return text
    }

    private func page(on code: ErrorCode) -> String {
        let raising = HelpCatalog.entries.filter { $0.errors.contains(code.name) }.map {
            "\($0.owners[0].name)\($0.separator)\($0.name)"
        }
        var text = titled(code.name, code.summary)
        if !raising.isEmpty {
            let lines = wrap.lines(
                "Raised by \(raising.joined(separator: ", "))", indent: "    ", hanging: "      ")
            text += lines.map { $0 + "\n" }.joined()
        }
        return text
    }

    /// Returns `title: summary`, wrapped.
    private func titled(_ title: String, _ summary: String) -> String {
        var lines = wrap.lines("\(title): \(summary)", hanging: "    ")
        // A title of several words can wrap; it then has no color.
        if lines[0].hasPrefix(title) {
            lines[0] = paint(title, .title) + lines[0].dropFirst(title.count)
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func painted(_ signature: String) -> [String] {
        wrap.lines(signature, hanging: "    ").map { line in
            let margin = line.prefix { $0 == " " }
            return margin + paint(String(line.dropFirst(margin.count)), .signature)
        }
    }

    private func owner(of entry: HelpEntry, as text: String) -> HelpType {
        let before = text.split(whereSeparator: { $0 == "." || $0 == ":" }).dropLast()
            .joined(separator: ".")
        return HelpCatalog.type(named: before).flatMap { type in
            entry.owners.first { $0 == type }
        } ?? entry.owners[0]
    }

    private func example(_ text: String) -> String {
        wrap.lines(ofCode: text, indent: "    ").map { line in
            "    " + paint(String(line.dropFirst(4)), .example) + "\n"
        }.joined()
    }

    // MARK: - Types

    /// Returns the text of a signature: `(predicate: string, ...: any) → Results`.
    static func text(of signature: Signature, for owner: HelpType) -> String {
        let parameters = type(signature.parameterText, of: owner)
        let results = signature.results.map { type($0, of: owner) }.joined(separator: ", ")
        return results.isEmpty ? parameters : "\(parameters) → \(results)"
    }

    /// Returns a type without the notation for editors: `Results<T>` becomes `Results`, and `T` becomes `object`.
    static func type(_ text: String, of owner: HelpType) -> String {
        let element = owner.element.isEmpty ? "object" : owner.element
        var result = ""
        var word = ""
        func takeWord() {
            result += word == "T" ? element : word == "self" ? owner.name : word
            word = ""
        }
        var rest = text[...]
        while let character = rest.first {
            if rest.hasPrefix("`T`") {
                takeWord()
                result += "string"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("<T>") {
                takeWord()
                rest = rest.dropFirst(3)
            } else {
                if character.isLetter || character == "_" || character.isNumber {
                    word.append(character)
                } else {
                    takeWord()
                    result.append(character)
                }
                rest = rest.dropFirst()
            }
        }
        takeWord()
        return result
    }
}

/// Wraps text at word boundaries.
///
///     TextWrap(columns: 60).lines("A long sentence …", indent: "    ")
///
/// A word that is longer than a line gets its own line.
package struct TextWrap: Sendable {
    /// The maximum width of a line.
    package let columns: Int
    let width: @Sendable (String) -> Int

    /// Creates a wrapper for lines of at most `columns` columns.
    ///
    /// `width` returns the columns of a text on the terminal; the default counts characters.
    package init(columns: Int, width: @escaping @Sendable (String) -> Int = { $0.count }) {
        self.columns = max(columns, 20)
        self.width = width
    }

    /// Returns the lines of a text.
    ///
    /// The first line begins with `indent`, the others with `hanging`, which defaults to `indent`. Newlines in the text
    /// are kept.
    package func lines(_ text: String, indent: String = "", hanging: String? = nil) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = lines.isEmpty ? indent : hanging ?? indent
            var isEmpty = true
            for word in paragraph.split(separator: " ") {
                if !isEmpty, width(line) + 1 + width(String(word)) > columns {
                    lines.append(line)
                    line = hanging ?? indent
                    isEmpty = true
                }
                line += (isEmpty ? "" : " ") + word
                isEmpty = false
            }
            lines.append(isEmpty ? "" : line)
        }
        return lines
    }

    /// Returns a list of terms with descriptions, in two columns.
    ///
    /// A term that is wider than a third of the line gets its own line above its description. `paint` colors terms.
    package func definitions(
        _ rows: [(term: String, text: String)], indent: String = "",
        paint: (String) -> String = { $0 }
    ) -> [String] {
        let widths = rows.map { width($0.term) }
        let limit = max(columns / 3, 14)
        let column = widths.filter { $0 <= limit }.max() ?? limit
        let margin = indent + String(repeating: " ", count: column + 2)
        return zip(rows, widths).flatMap { row, termWidth -> [String] in
            let first = indent + paint(row.term)
            guard !row.text.isEmpty else { return [first] }
            let body = lines(row.text, indent: margin)
            guard termWidth <= column else { return [first] + body }
            let gap = String(repeating: " ", count: column - termWidth + 2)
            return [first + gap + body[0].dropFirst(margin.count)] + body.dropFirst()
        }
    }
}

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
