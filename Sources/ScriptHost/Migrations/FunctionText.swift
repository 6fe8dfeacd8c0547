import EventLoops
import LuaHost
import ObjectStore
import Reference
import StoreBindings

/// Finds the text of a Lua function in the source of its chunk.
struct FunctionText {
    private let module: StoreModule

    init(_ module: StoreModule) { self.module = module }

    /// Returns the text of a function that uses only its parameters and globals: `function(m) … end`.
    ///
    /// Throws `invalid_argument` if the source is not known, or if the function uses a local of another function.
    func text(of function: LuaFunction) throws -> String {
        guard let debug = module.state.globals["debug"].table,
            let info = try debug["getinfo"].function?.call([.function(function), .text("Su")])
                .first?.table,
            let chunk = info["source"].text, let first = info["linedefined"].integer,
            let last = info["lastlinedefined"].integer, first > 0
        else { throw unknown("a function whose source is not known") }
        for number in 1...max(1, info["nups"].integer ?? 0) {
            let name = try debug["getupvalue"].function?.call([
                .function(function), .integer(number),
            ]).first?.text
            if let name, name != "_ENV" {
                throw unknown("a function that uses the local '\(name)'")
            }
        }
        let shown = info["short_src"].text ?? chunk
        guard let source = source(of: chunk, shown) else {
            throw unknown("a function of \(shown), whose source is not known")
        }
        let found = Self.functions(in: source, from: Int(first), to: Int(last))
        let wanted = try? function.dump(stripped: true)
        let lines = String(repeating: "\n", count: Int(first) - 1)
        let equal = found.first {
            let chunk = try? module.state.load(lines + "return " + $0, name: "=function")
            return (try? chunk?.call([]).first?.function?.dump(stripped: true)) == wanted
        }
        guard let text = equal ?? (found.count == 1 ? found[0] : nil) else {
            throw unknown(
                "a function on line \(first) of \(shown), which has several functions; write it on lines of its own"
            )
        }
        return text
    }

    private func unknown(_ what: String) -> StoreError {
        StoreError(
            .invalidArgument,
            "a change of the schema was made with \(what), so a migration cannot repeat it; write the migration with "
                + "moonpool migrate plan")
    }

    private func source(of chunk: String, _ shown: String) -> String? {
        if let known = module.chunkSource?(shown) { return known }
        guard chunk.hasPrefix("@"),
            let bytes = ProcessServices.read(String(chunk.dropFirst()), limit: 4 << 20)
        else { return chunk.hasPrefix("@") || chunk.hasPrefix("=") ? nil : chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the functions that begin and end on these lines, without their names.
    static func functions(in source: String, from first: Int, to last: Int) -> [String] {
        let bytes = Array(source.utf8)
        var line = 1
        var position = 0
        var open: [(word: String, start: Int, line: Int)] = []
        var found: [String] = []
        let tokens = LuaLexer.tokens(of: source)
        for (index, token) in tokens.enumerated() {
            line += bytes[position..<token.range.lowerBound].count { $0 == UInt8(ascii: "\n") }
            position = token.range.lowerBound
            guard token.kind == .keyword else { continue }
            switch token.text {
            case "function", "if", "do", "repeat":
                // The name of a function is not part of its text.
                let body =
                    token.text == "function"
                    ? tokens[index...].first { $0.isSymbol("(") }?.range.lowerBound : nil
                open.append((token.text, body ?? token.range.lowerBound, line))
            case "end", "until":
                guard let block = open.popLast() else { return found }
                if block.word == "function", block.line == first, line == last {
                    found.append(
                        "function"
                            + String(
                                decoding: bytes[block.start..<token.range.upperBound],
                                as: UTF8.self))
                }
            default: break
            }
        }
        return found
    }
}
