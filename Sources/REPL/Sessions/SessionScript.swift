import LuaHost
import Reference

/// The entries of a session as a Lua script that `moonpool FILE` runs, for `.save`.
///
///     var script = SessionScript()
///     script.open(path: "zoo.moonpool")
///     script.add("#store:objects 'Dog'", results: 1...1)
///     script.text(hasObservers: false)
///
/// The script prints the value of each expression as the prompt does. Dot commands become calls or comments, and failed
/// entries become comments.
struct SessionScript {
    private enum Step {
        /// A Lua entry, with the numbers of its results.
        case entry(String, results: ClosedRange<Int>?)
        /// Lua that the session ran itself.
        case code(String)
        case comment(String)
    }

    private var steps: [Step] = []

    /// The number of entries.
    private(set) var count = 0

    /// Adds the opening of the session's store: a file, or an in-memory store if `path` is nil.
    mutating func open(path: String?) {
        let argument = path.map { LuaLiteral.string($0) } ?? "{ in_memory = \"store\" }"
        steps.append(.code("store = moonpool.open(\(argument))"))
    }

    /// Adds Lua that the session ran itself.
    mutating func add(code: String) { steps.append(.code(code)) }

    /// Adds a successful entry with the numbers of its results; nil if it had none.
    mutating func add(_ entry: String, results: ClosedRange<Int>?) {
        count += 1
        steps.append(.entry(entry, results: results))
    }

    /// Adds an entry that failed.
    mutating func add(failed entry: String) { steps.append(.comment("failed: " + entry)) }

    /// Adds a dot command; `code` is the Lua call that it corresponds to.
    mutating func add(command: String, code: String?) {
        count += 1
        steps.append(code.map { .code("\($0)  -- \(command)") } ?? .comment(command))
    }

    /// Returns an entry such as `store:define { … }` with the option that permits data loss; other entries unchanged.
    static func forcing(_ entry: String) -> String {
        let tokens = LuaLexer.tokens(of: entry)
        guard tokens.count > 4, tokens[1].isSymbol(":"), tokens[2].text == "define",
            let last = tokens.last
        else { return entry }
        let bytes = Array(entry.utf8)
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let option = ", { force = true })"
        if tokens[3].isSymbol("{"), last.isSymbol("}") {
            let start = tokens[3].range.lowerBound
            return text(0..<start) + "(" + text(start..<last.range.upperBound) + option
        }
        guard tokens[3].isSymbol("("), last.isSymbol(")") else { return entry }
        return text(0..<last.range.lowerBound) + option
    }

    /// Adds an expression of `.live` as an effect that prints its value.
    mutating func add(live expression: String, number: Int) {
        let compiler = EntryCompiler()
        let label = LuaLiteral.string("[live \(number)] \(expression) = ")
        let single = "(\n\(expression)\n)"
        let shown =
            compiler.isExpression(single)
            ? "moonpool.inspect\(Self.endsInComment(expression) ? single : "(\(expression))")"
            : """
            (function(...)
                local values = table.pack(...)
                for i = 1, values.n do values[i] = moonpool.inspect(values[i]) end
                return table.concat(values, ", ")
              end)(
            \(expression)
              )
            """
        let name = Self.name(ofLive: number)
        count += 1
        steps.append(.comment(".live \(expression)"))
        steps.append(
            .code("\(name) = moonpool.effect(function()\n  print(\(label) .. \(shown))\nend)"))
    }

    /// Returns the variable name of the effect for an expression of `.live`.
    static func name(ofLive number: Int) -> String { "live_\(number)" }

    /// Adds the text of a file that `.load` has run.
    mutating func add(file: String, text: String) {
        count += 1
        steps.append(.comment(".load \(file)"))
        steps.append(.entry(text, results: nil))
    }

    /// Returns the script.
    ///
    /// If observers or effects are active, its last line ends the event loop.
    func text(hasObservers: Bool) -> String {
        let compiler = EntryCompiler()
        let named = names
        var lines: [String] = []
        // The function and the module are the prompt's, which a script does not have.
        if named.contains("help") { lines.append("help = help or function() end") }
        if named.contains("prompt") {
            lines.append(
                "moonpool.prompt = moonpool.prompt or setmetatable({}, { __index = function() return function() end end })"
            )
        }
        for step in steps {
            switch step {
            case .code(let code): lines.append(code)
            case .comment(let text): lines.append(Self.comment(text))
            case .entry(let entry, let results):
                lines.append(Self.code(of: entry, results, named, compiler))
            }
        }
        if hasObservers {
            lines.append(
                "-- Observers keep a script running. Delete the next line to keep observing.")
            // Notifications of the last writes arrive while the event loop runs.
            lines.append("moonpool.sleep(0.05) moonpool.stop()")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The names that occur in the code.
    private var names: Set<String> {
        var names: Set<String> = []
        for step in steps {
            let text =
                switch step {
                case .entry(let text, _), .code(let text): text
                case .comment: ""
                }
            for token in LuaLexer.tokens(of: text) where token.kind == .name {
                names.insert(token.text)
            }
        }
        return names
    }

    private static func comment(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { "-- \($0)" }
            .joined(separator: "\n")
    }

    private static func code(
        of entry: String, _ results: ClosedRange<Int>?, _ names: Set<String>,
        _ compiler: EntryCompiler
    ) -> String {
        let text = EntryText.lua(entry)
        if let results {
            if let expression = expression(in: text, compiler) {
                return printing(expression, results, names)
            }
            if let (head, tail) = compiler.splittingLastExpression(of: text) {
                return statement(head) + "\n" + printing(tail, results, names)
            }
            let returned = returns(LuaLexer.tokens(of: text))
            if let offset = returned.last {
                let (head, tail) = split(text, around: offset)
                return (head.trimmed.isEmpty ? "" : statement(head.trimmed) + "\n")
                    + printing(tail, results, names)
            }
            if returned.isNested {
                return printing("(function(...)\n\(text)\nend)()", results, names)
            }
        }
        return statement(text)
    }

    /// Returns an entry as a statement that is independent of the line above.
    private static func statement(_ text: String) -> String {
        let tokens = LuaLexer.tokens(of: text)
        // A `return` outside of a function would end the script.
        let returned = returns(tokens)
        if returned.isNested || returned.last != nil { return ";(function(...)\n\(text)\nend)()" }
        return tokens.first?.isSymbol("(") == true ? ";" + text : text
    }

    /// Finds the `return` statements of a chunk outside of functions.
    ///
    /// `last` is the range of the one that ends the chunk; `isNested` is whether blocks contain others.
    private static func returns(_ tokens: [LuaToken]) -> (last: Range<Int>?, isNested: Bool) {
        var last: Range<Int>?
        var isNested = false
        var openers: [String] = []
        for token in tokens where token.kind == .keyword {
            switch token.text {
            case "function", "do", "if", "repeat": openers.append(token.text)
            case "end", "until": _ = openers.popLast()
            case "return" where openers.isEmpty: last = token.range
            case "return" where !openers.contains("function"): isNested = true
            default: break
            }
        }
        return (isNested ? nil : last, isNested)
    }

    private static func split(_ text: String, around range: Range<Int>) -> (String, String) {
        let bytes = Array(text.utf8)
        let tail = String(decoding: bytes[range.upperBound...], as: UTF8.self).trimmed
        return (
            String(decoding: bytes[..<range.lowerBound], as: UTF8.self),
            tail.hasSuffix(";") ? String(tail.dropLast()) : tail
        )
    }

    /// Returns the expression of an entry such as `1 + 1` or `return 1 + 1`; nil for statements.
    private static func expression(in text: String, _ compiler: EntryCompiler) -> String? {
        var text = text
        if let first = LuaLexer.tokens(of: text).first, first.isKeyword("return") {
            text = String(decoding: Array(text.utf8)[first.range.upperBound...], as: UTF8.self)
        }
        return compiler.isExpression(text) ? text.trimmed : nil
    }

    private static func endsInComment(_ text: String) -> Bool {
        if case .comment = LuaLexer.allTokens(of: text).last?.kind { true } else { false }
    }

    /// Returns code that prints an expression, and assigns the names of its results that other entries use.
    private static func printing(
        _ expression: String, _ results: ClosedRange<Int>, _ names: Set<String>
    ) -> String {
        // A comment at the end must not hide the closing parentheses.
        let hasLines = expression.contains("\n") || endsInComment(expression)
        let argument = hasLines ? "\n\(expression.trimmed)\n" : expression.trimmed
        var used = results.map { "_\($0)" }.filter(names.contains)
        if names.contains("_") { used.append("_") }
        if results.count == 1, used.isEmpty { return "print(moonpool.inspect(\(argument)))" }
        if results.count == 1 {
            let rest = used.dropFirst().map { "\($0) = \(used[0])\n" }.joined()
            return "\(used[0]) = \(argument.trimmed)\n\(rest)print(moonpool.inspect(\(used[0])))"
        }
        let assignments = results.compactMap { number in
            let isFirst = number == results.lowerBound && names.contains("_")
            let index = number - results.lowerBound + 1
            let targets =
                (names.contains("_\(number)") ? ["_\(number)"] : []) + (isFirst ? ["_"] : [])
            return targets.isEmpty
                ? nil : targets.map { "\($0) = all[\(index)]" }.joined(separator: " ")
        }
        return """
            do
              local all = table.pack(\(argument))
              for i = 1, all.n do print(moonpool.inspect(all[i])) end
            \(assignments.map { "  \($0)\n" }.joined())end
            """
    }
}

extension StringProtocol {
    /// The text without white space at both ends.
    var trimmed: String {
        var text = self[...].drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
