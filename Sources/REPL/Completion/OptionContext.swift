import Reference

/// The table of options around the cursor: `results:observe(f, { na`.
struct OptionContext {
    /// The options that the table does not contain yet.
    let names: [String]

    /// Returns nil if the cursor is not in such a table, or is after the `=` of one of its fields.
    init?(_ tokens: [LuaToken]) {
        guard let table = OpenTable(tokens), table.start > 0,
            let function = Self.function(of: Array(tokens[..<table.start]))
        else { return nil }
        let types = HelpCatalog.find(function).flatMap(\.signatures).flatMap(\.parameters)
            .flatMap { $0.type.split(whereSeparator: { "?|".contains($0) }).map(String.init) }
            .filter { $0.hasSuffix("Options") }
        let names = types.compactMap { name in
            HelpCatalog.types.first { $0.annotation == name }
        }.flatMap { HelpCatalog.entries(of: $0).map(\.name) }.filter { !table.names.contains($0) }
        guard !names.isEmpty else { return nil }
        self.names = names
    }

    /// Returns the name of the function that would receive a table after these tokens as an argument.
    private static func function(of tokens: [LuaToken]) -> String? {
        guard let last = tokens.last else { return nil }
        if last.kind == .name { return last.text }
        guard last.isSymbol("(") || last.isSymbol(",") else { return nil }
        var depth = 0
        for index in tokens.indices.reversed() {
            let token = tokens[index]
            if token.kind == .keyword { depth += LuaNesting.closing(token) }
            guard token.kind == .symbol else { continue }
            if ["}", ")", "]"].contains(token.text) { depth += 1 }
            guard ["{", "(", "["].contains(token.text) else { continue }
            if depth == 0 {
                guard token.text == "(", index > 0, tokens[index - 1].kind == .name else {
                    return nil
                }
                return tokens[index - 1].text
            }
            depth -= 1
        }
        return nil
    }
}

/// The nesting of Lua blocks, for scanning tokens backward.
private enum LuaNesting {
    /// Returns 1 for a word that ends a block, -1 for one that begins a block, and 0 otherwise.
    static func closing(_ token: LuaToken) -> Int {
        switch token.text {
        case "end", "until": 1
        case "function", "do", "if", "repeat": -1
        default: 0
        }
    }
}
