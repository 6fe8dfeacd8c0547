import Reference

/// Sorts modules into the order in which they are reloaded.
enum ModuleOrder {
    /// Returns the names sorted so that each follows the modules that its text requires; `read` returns the bytes of a
    /// text.
    ///
    /// Only `require` with a literal counts. Names that require each other keep their order.
    static func sorted(_ names: [String], read: (String) -> [UInt8]?) -> [String] {
        let wanted = Set(names)
        var order: [String] = []
        var visited: Set<String> = []
        func visit(_ name: String) {
            guard visited.insert(name).inserted else { return }
            for other in required(in: read(name) ?? []) where wanted.contains(other) {
                visit(other)
            }
            order.append(name)
        }
        names.forEach(visit)
        return order
    }

    /// Returns the modules that a text requires by literals: `require "a"`, `require("a")`.
    static func required(in bytes: [UInt8]) -> [String] {
        let tokens = LuaLexer.tokens(of: String(decoding: bytes, as: UTF8.self))
        return tokens.indices.compactMap { index in
            guard tokens[index].kind == .name, tokens[index].text == "require" else { return nil }
            let rest = tokens[(index + 1)...].drop { $0.isSymbol("(") }
            guard let literal = rest.first, case .string(isClosed: true) = literal.kind,
                literal.text.first != "["
            else { return nil }
            return String(literal.text.dropFirst().dropLast())
        }
    }
}
