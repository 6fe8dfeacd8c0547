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
