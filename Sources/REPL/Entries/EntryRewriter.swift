import Reference

/// Rewrites an entry into a chunk whose top-level locals outlive it.
///
/// The entry becomes the body of a function. Earlier locals that it names are upvalues of the function, which the
/// session joins to the real variables. An entry therefore shares a variable with every closure created in its scope,
/// and a new `local x` is a new variable that older closures do not see. Calls between the statements save the entry's
/// own top-level locals, so that they exist even if a later statement fails. The added code contains no newlines, so
/// messages keep their line numbers.
struct EntryRewriter {
    /// A local of an earlier entry.
    struct Local: Equatable, Sendable {
        var name: String
        /// Whether it is `<const>`.
        var isConstant: Bool
    }

    /// The name of the function that saves new locals.
    ///
    /// Completion does not offer it.
    static let checkpointer = "__keep_locals"

    /// A limit below the maximum number of locals and upvalues of a Lua function.
    static let upvalueLimit = 180

    private let source: [UInt8]
    private let tokens: [LuaToken]

    init(_ entry: String) {
        source = Array(entry.utf8)
        tokens = LuaLexer.tokens(of: entry)
    }

    /// All names in the entry, which can refer to locals.
    var names: Set<String> { Set(tokens.lazy.filter { $0.kind == .name }.map(\.text)) }

    /// Returns a chunk that returns a function, which takes the function that saves locals and runs the entry.
    ///
    /// Returns nil if the entry needs too many earlier locals at once. Without `keeping`, its own locals end with it.
    func chunk(earlier: [Local], keeping: Bool = true) -> String? {
        let names = names
        let needed = earlier.filter { names.contains($0.name) || $0.name == "_ENV" }
        guard needed.count <= Self.upvalueLimit else { return nil }
        var text = ""
        if !needed.isEmpty {
            // A value from `...` prevents the compiler from folding the constant.
            let list = needed.map { $0.isConstant ? "\($0.name) <const>" : $0.name }
            text = "local \(list.joined(separator: ", ")) = ... "
        }
        return text + "return function(\(Self.checkpointer), ...) "
            + (keeping ? body() : String(decoding: source, as: UTF8.self)) + "\nend"
    }

    /// Returns the entry with calls that save its locals.
    private func body() -> String {
        var result: [UInt8] = []
        var copied = 0
        func copy(to end: Int) {
            result += source[copied..<end]
            copied = end
        }
        var depth = 0
        var pending: [Local] = []
        func handOver() {
            guard !pending.isEmpty else { return }
            result += Array((" " + Self.keep(pending) + " ").utf8)
            pending = []
        }
        var index = 0
        var brackets = 0
        while index < tokens.count {
            let token = tokens[index]
            let isOutside = depth == 0 && brackets == 0
            if isOutside, Self.beginsStatement(token, after: index > 0 ? tokens[index - 1] : nil) {
                copy(to: token.range.lowerBound)
                handOver()
            }
            if isOutside, token.isKeyword("local") {
                let declaration = declaration(at: index)
                pending += declaration.locals
                for attribute in declaration.closing {
                    // A `<close>` variable stays open until the session ends, because later entries can use it.
                    copy(to: tokens[attribute].range.lowerBound)
                    result += Array("const".utf8)
                    copied = tokens[attribute].range.upperBound
                }
                // The `function` of a local function opens a block like any other.
                index = declaration.end
                continue
            }
            depth = max(0, depth + Self.nesting(token))
            if token.kind == .symbol {
                if ["(", "[", "{"].contains(token.text) { brackets += 1 }
                if [")", "]", "}"].contains(token.text) { brackets = max(0, brackets - 1) }
            }
            index += 1
        }
        copy(to: source.count)
        if !pending.isEmpty {
            // On a separate line, because the entry can end in a comment.
            result += Array("\n".utf8)
            handOver()
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func keep(_ locals: [Local]) -> String {
        var seen: Set<String> = []
        let last = Array(locals.reversed().filter { seen.insert($0.name).inserted }.reversed())
        let names = last.map(\.name).joined(separator: ", ")
        let quoted = last.map { "\"\($0.isConstant ? "=" : "")\($0.name)\"" }.joined(
            separator: ", ")
        return "\(checkpointer)(function() return \(names) end, \(quoted))"
    }

    /// Returns whether a token must start a statement: some keywords, and a name after the end of an expression.
    private static func beginsStatement(_ token: LuaToken, after previous: LuaToken?) -> Bool {
        if token.kind == .keyword {
            return ["local", "if", "for", "while", "repeat", "return"].contains(token.text)
        }
        guard token.kind == .name, let previous else { return false }
        switch previous.kind {
        case .name, .number, .string: return true
        case .keyword: return ["end", "nil", "true", "false"].contains(previous.text)
        case .symbol: return [")", "]", "}", "..."].contains(previous.text)
        case .comment: return false
        }
    }

    private static func nesting(_ token: LuaToken) -> Int {
        guard token.kind == .keyword else { return 0 }
        switch token.text {
        case "function", "do", "if", "repeat": return 1
        case "end", "until": return -1
        default: return 0
        }
    }

    /// Returns the names of a `local` statement, its `close` tokens, and the index of the token after the names.
    private func declaration(at index: Int) -> (locals: [Local], closing: [Int], end: Int) {
        var locals: [Local] = []
        var closing: [Int] = []
        var next = index + 1
        if next < tokens.count, tokens[next].isKeyword("function") {
            if next + 1 < tokens.count, tokens[next + 1].kind == .name {
                locals = [Local(name: tokens[next + 1].text, isConstant: false)]
            }
            return (locals, [], next)
        }
        while next < tokens.count, tokens[next].kind == .name {
            var local = Local(name: tokens[next].text, isConstant: false)
            next += 1
            if next + 2 < tokens.count, tokens[next].isSymbol("<"), tokens[next + 2].isSymbol(">") {
                local.isConstant = true
                if tokens[next + 1].text == "close" { closing.append(next + 1) }
                next += 3
            }
            locals.append(local)
            guard next < tokens.count, tokens[next].isSymbol(",") else { break }
            next += 1
        }
        return (locals, closing, next)
    }
}
