import Reference

/// The call whose arguments contain the cursor: `dogs:where "na`, `dogs:observe(handler, { keypaths = { "na`.
struct CallContext {
    /// The function's name.
    let function: String
    /// The tokens before the name, with the `.` or `:`.
    let receiver: [LuaToken]
    /// Whether only a parenthesis is between the name and the cursor.
    let isFirstArgument: Bool

    /// Returns nil if the cursor is not in a call.
    init?(_ tokens: [LuaToken]) {
        if let last = tokens.last, last.kind == .name {
            self.init(tokens, name: tokens.count - 1, isFirstArgument: true)
            return
        }
        var depth = 0
        for index in tokens.indices.reversed() where tokens[index].kind == .symbol {
            switch tokens[index].text {
            case "}", ")", "]": depth += 1
            case "{", "(", "[":
                guard depth == 0 else {
                    depth -= 1
                    continue
                }
                // A brace or a bracket begins a table or an index, which can itself be part of an argument.
                guard index > 0, tokens[index - 1].kind == .name, tokens[index].text != "[" else {
                    continue
                }
                self.init(tokens, name: index - 1, isFirstArgument: index == tokens.count - 1)
                return
            default: break
            }
        }
        return nil
    }

    private init(_ tokens: [LuaToken], name: Int, isFirstArgument: Bool) {
        function = tokens[name].text
        receiver = Array(tokens[..<name])
        self.isFirstArgument = isFirstArgument
    }
}
