import ObjectStore
import Reference

/// Completes the type of a property in a schema: `store:define { Dog = { age = "in`.
struct SchemaTypes {
    /// The word at the cursor.
    let typed: String
    /// The types and modifiers that can follow.
    let candidates: [String]

    /// Returns nil if the string is not a property's type.
    init?(_ content: String, call: CallContext?, tokens: [LuaToken], schema: Schema?) {
        guard let last = tokens.last, last.isSymbol("="), tokens.count > 2,
            let function = call?.function, ["define", "open"].contains(function)
        else { return nil }
        // In `open`, only the table `schema` has types.
        if function == "open" {
            guard tokens.contains(where: { $0.kind == .name && $0.text == "schema" }),
                tokens.filter({ $0.isSymbol("{") }).count
                    - tokens.filter({ $0.isSymbol("}") }).count
                    > 2
            else { return nil }
        }
        let words = content.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        typed = words.last ?? ""
        if words.count > 1 {
            candidates =
                words[0] == "backlinks"
                ? Self.links(schema)
                : ["primary", "indexed", "fulltext"].filter { !words.dropLast().contains($0) }
            return
        }
        let defined = tokens.indices.dropLast(2).filter {
            tokens[$0].kind == .name && tokens[$0 + 1].isSymbol("=") && tokens[$0 + 2].isSymbol("{")
        }.map { tokens[$0].text }.filter { $0 != "schema" }
        candidates =
            PropertyType.allCases.filter { $0 != .object }.map(\.rawValue) + ["backlinks"] + defined
            + (schema?.classes.map(\.name) ?? [])
    }

    /// Returns link properties such as `Person.dogs`, which backlinks can refer to.
    private static func links(_ schema: Schema?) -> [String] {
        (schema?.classes ?? []).flatMap { found in
            found.properties.filter { $0.type == .object && !$0.isBacklinks }.map {
                "\(found.name).\($0.name)"
            }
        }
    }
}
