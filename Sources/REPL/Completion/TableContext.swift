import ObjectStore
import Reference

/// The table constructor around the cursor, if its names are properties: `store:create("Dog", { na`.
struct TableContext {
    /// The class that the table sets properties of.
    let classSchema: ClassSchema
    /// The names that the table already contains.
    let used: Set<String>

    /// Returns nil if the cursor is not in such a table, or is after the `=` of one of its fields.
    init?(_ tokens: [LuaToken], _ session: Session) {
        guard let table = OpenTable(tokens) else { return nil }
        var before = Array(tokens[..<table.start])
        var className: String?
        // Calls such as `create("Dog", {` name the class before the table.
        if before.last?.isSymbol(",") == true {
            before.removeLast()
            guard let name = before.popLast(), case .string = name.kind else { return nil }
            className = String(name.text.dropFirst().dropLast())
        }
        if before.last?.isSymbol("(") == true { before.removeLast() }
        guard let function = before.popLast(), function.kind == .name else { return nil }
        if let className {
            guard ["create", "new"].contains(function.text),
                let found = session.store?.store.schema.find(className)
            else { return nil }
            classSchema = found
        } else {
            guard ["where", "update"].contains(function.text),
                let found = ChainResolver(session).subject(of: before, requiresAccess: true)?
                    .classSchema
            else { return nil }
            classSchema = found
        }
        used = table.names
    }

    /// The properties that the table does not contain yet.
    var names: [String] {
        classSchema.properties.filter { !$0.isBacklinks && !used.contains($0.name) }.map(\.name)
    }
}

/// The table constructor that contains the cursor.
struct OpenTable {
    /// The index of its `{`.
    let start: Int
    /// The names of its fields before the cursor.
    let names: Set<String>

    /// Returns nil if the cursor is not in a table constructor, or is after the `=` of one of its fields.
    init?(_ tokens: [LuaToken]) {
        guard let last = tokens.last, last.isSymbol("{") || last.isSymbol(",") else { return nil }
        var depth = 0
        var names: Set<String> = []
        for index in tokens.indices.reversed() where tokens[index].kind == .symbol {
            let token = tokens[index]
            if ["}", ")", "]"].contains(token.text) { depth += 1 }
            if depth == 0, token.text == "=", index > 0, tokens[index - 1].kind == .name {
                names.insert(tokens[index - 1].text)
            }
            guard ["{", "(", "["].contains(token.text) else { continue }
            if depth == 0 {
                guard token.text == "{" else { return nil }
                (start, self.names) = (index, names)
                return
            }
            depth -= 1
        }
        return nil
    }
}
