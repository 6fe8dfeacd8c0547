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
        guard let last = tokens.last, last.isSymbol("{") || last.isSymbol(",") else { return nil }
        var depth = 0
        var used: Set<String> = []
        var open: Int?
        for index in tokens.indices.reversed() {
            let token = tokens[index]
            guard token.kind == .symbol else { continue }
            if ["}", ")", "]"].contains(token.text) { depth += 1 }
            if depth == 0, token.text == "=", index > 0, tokens[index - 1].kind == .name {
                used.insert(tokens[index - 1].text)
            }
            guard ["{", "(", "["].contains(token.text) else { continue }
            if depth == 0 {
                guard token.text == "{" else { return nil }
                open = index
                break
            }
            depth -= 1
        }
        guard let open else { return nil }
        var before = Array(tokens[..<open])
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
        self.used = used
    }

    /// The properties that the table does not contain yet.
    var names: [String] {
        classSchema.properties.filter { !$0.isBacklinks && !used.contains($0.name) }.map(\.name)
    }
}
