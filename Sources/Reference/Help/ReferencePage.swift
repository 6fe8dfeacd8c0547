/// Generates the reference page of the Lua API from the catalog.
package enum ReferencePage {
    /// The page in DocC Markdown.
    ///
    /// `scripts/reference` writes the page, and a test compares it with the file.
    package static var text: String {
        var lines = [
            "# The Lua API",
            "",
            "All functions, methods, properties and options, with examples.",
            "",
            "## Overview",
            "",
            "This page is generated from the same catalog as `.help`, `help(f)` and `moonpool luals`. The examples begin",
            "with the following lines. Expected output follows `-->`.",
            "",
            "```lua",
        ]
        lines += HelpCatalog.examplePrelude.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        while lines.last == "" { lines.removeLast() }
        lines += ["```", ""]
        for type in HelpCatalog.types { lines += section(on: type) }
        lines += ["## Errors", "", "The values of `err.code`:", ""]
        for code in HelpCatalog.errors { lines.append("- `\(code.name)`: \(code.summary)") }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(on type: HelpType) -> [String] {
        var lines = ["## \(type.name)", "", type.summary, ""]
        if let parent = type.parent { lines += ["Has all members of \(parent).", ""] }
        lines += block(type.example)
        let entries = HelpCatalog.entries(of: type)
        let fields = entries.filter { $0.kind != .function && $0.kind != .method }
        for entry in fields {
            guard case .field(let fieldType, let isWritable) = entry.kind else { continue }
            lines.append(
                "- `\(entry.name)`: `\(HelpText.type(fieldType, of: type))`\(isWritable ? ", writable" : ""). "
                    + entry.summary)
        }
        if !fields.isEmpty { lines.append("") }
        for entry in fields { lines += block(entry.example) }
        for entry in entries where entry.kind == .function || entry.kind == .method {
            // A member of several types appears in the section of the first type.
            guard entry.owners[0] == type else { continue }
            lines += ["### \(entry.name) of \(type.name)", ""]
            for signature in entry.signatures {
                lines.append(
                    "`\(type.prefix(entry.separator))\(entry.name)\(HelpText.text(of: signature, for: type))`\\"
                )
            }
            lines += [entry.summary, ""]
            if entry.owners.count > 1 {
                let others = entry.owners.dropFirst().map(\.name)
                lines += ["Also a member of \(others.joined(separator: ", ")).", ""]
            }
            if !entry.errors.isEmpty {
                lines += [
                    "Errors: " + entry.errors.map { "`\($0)`" }.joined(separator: ", ")
                        + ".", "",
                ]
            }
            lines += block(entry.example)
        }
        let shared = entries.filter { $0.kind == .method && $0.owners[0] != type }.map(\.name)
        if !shared.isEmpty {
            lines += [
                "Shared with other types, described above: `\(shared.joined(separator: "`, `"))`.",
                "",
            ]
        }
        return lines
    }

    private static func block(_ example: String) -> [String] {
        example.isEmpty ? [] : ["```lua", example, "```", ""]
    }
}
