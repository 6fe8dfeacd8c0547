import ObjectStore

/// Help on the Lua API as text, made from the catalogue.
package struct HelpText: Sendable {
    /// What a piece of help is, for who colours it.
    package enum Role: Sendable {
        case title, signature, example
    }

    private let paint: @Sendable (String, Role) -> String

    /// Help whose parts a function colours; without one it is plain.
    package init(paint: @escaping @Sendable (String, Role) -> String = { text, _ in text }) {
        self.paint = paint
    }

    /// Help on a name: `where`, `Results.where`, `store`, `moonpool.open`, `not_in_write`; nil if nothing is known.
    ///
    /// Ends with a new line.
    package func page(on text: String) -> String? {
        if let type = Catalogue.type(named: text) { return page(on: type) }
        let found = Catalogue.find(text)
        if !found.isEmpty {
            return found.map { page(on: $0, as: text) }.joined(separator: "\n")
        }
        guard let code = ErrorCode(rawValue: text) else { return nil }
        return page(on: code)
    }

    /// Every name that has help, for completion.
    package static let names: [String] = Array(
        Set(
            Catalogue.types.map(\.name) + Catalogue.entries.map(\.name)
                + ErrorCode.allCases.map(\.rawValue))
    ).sorted()

    /// The name that somebody may have meant.
    package static func nearest(to text: String, besides others: [String] = []) -> String? {
        let last = text.split(whereSeparator: { $0 == "." || $0 == ":" }).last.map(String.init)
        return NearestName.find(last ?? text, among: names + others)
    }

    // MARK: - Pages

    /// A type: its sentence, its names each in a line, its example.
    package func page(on type: CatalogueType) -> String {
        var text = "\(paint(type.name, .title)): \(type.summary)\n"
        let entries = Catalogue.entries(of: type)
        let rows = entries.map { entry in
            (name: (type == Catalogue.prompt ? "" : entry.separator) + entry.name, entry: entry)
        }
        let width = rows.map(\.name.count).max() ?? 0
        for row in rows {
            let gap = String(repeating: " ", count: width - row.name.count)
            text += "  \(paint(row.name, .signature))\(gap)  \(row.entry.summary)\n"
        }
        if let parent = type.parent { text += "  and all of \(parent)\n" }
        if !type.example.isEmpty { text += "\n" + example(type.example) }
        return text
    }

    /// One name: how it is called, its sentence, its errors, its example.
    private func page(on entry: CatalogueEntry, as text: String) -> String {
        let owner = self.owner(of: entry, as: text)
        var lines: [String] = []
        switch entry.kind {
        case .field(let type, let isWritable):
            let place = "\(owner.prefix("."))\(entry.name): \(HelpText.type(type, of: owner))"
            lines.append(paint(place, .signature) + (isWritable ? "  (can be set)" : ""))
        case .function, .method:
            for signature in entry.signatures {
                lines.append(
                    paint(
                        owner.prefix(entry.separator) + entry.name
                            + HelpText.text(of: signature, for: owner), .signature))
            }
        }
        let others = entry.owners.filter { $0 != owner }.map(\.name)
        if !others.isEmpty { lines.append("  also of \(others.joined(separator: ", "))") }
        lines.append("    \(entry.summary)")
        if !entry.errors.isEmpty {
            lines.append("    Errors: \(entry.errors.map(\.rawValue).joined(separator: ", "))")
        }
        var text = lines.joined(separator: "\n") + "\n"
        let shown = entry.example.isEmpty ? owner.example : entry.example
        if !shown.isEmpty { text += "\n" + example(shown) }
        return text
    }

    private func page(on code: ErrorCode) -> String {
        let raising = Catalogue.entries.filter { $0.errors.contains(code) }.map {
            "\($0.owners[0].name)\($0.separator)\($0.name)"
        }
        var text = "\(paint(code.rawValue, .title)): \(code.summary)\n"
        if !raising.isEmpty { text += "    Raised by \(raising.joined(separator: ", "))\n" }
        return text
    }

    private func owner(of entry: CatalogueEntry, as text: String) -> CatalogueType {
        let before = text.split(whereSeparator: { $0 == "." || $0 == ":" }).dropLast()
            .joined(separator: ".")
        return Catalogue.type(named: before).flatMap { type in
            entry.owners.first { $0 == type }
        } ?? entry.owners[0]
    }

    private func example(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "    " + paint(String($0), .example) + "\n" }.joined()
    }

    // MARK: - Types for people

    /// `(predicate: string, ...: any) → Results`.
    static func text(of signature: Signature, for owner: CatalogueType) -> String {
        let parameters = type(signature.parameterText, of: owner)
        let results = signature.results.map { type($0, of: owner) }.joined(separator: ", ")
        return results.isEmpty ? parameters : "\(parameters) → \(results)"
    }

    /// A type without the marks that only editors need: `Results<T>` is `Results`, and `T` an object.
    static func type(_ text: String, of owner: CatalogueType) -> String {
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
