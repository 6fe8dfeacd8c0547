import LuaHost
import Reference

/// The status of the lines typed so far.
enum EntryStatus: Equatable, Sendable {
    /// The entry can run.
    case complete
    /// The entry can become valid with more lines.
    case incomplete
    /// The entry is invalid; contains the compiler's message.
    case wrong(String)
}

/// Distinguishes complete entries from unfinished ones with the Lua compiler.
///
/// Runs no code.
///
/// The main thread has its own instance and Lua state, so that typing never waits for the script.
final class EntryCompiler {
    private let state = LuaState(libraries: [])

    init() {}

    /// Returns the status of an entry: a command, an expression, or statements.
    func status(of entry: String) -> EntryStatus {
        let text = EntryText.lua(entry)
        if EntryText.isCommand(entry) { return .complete }
        let expression = check("return " + text)
        if EntryText.isExpressionOnly(entry) || expression == .complete { return expression }
        let statement = check(text)
        if statement == .complete { return .complete }
        if splittingLastExpression(of: text) != nil { return .complete }
        // `1 +` is not a statement, but the start of an expression.
        return expression == .incomplete ? .incomplete : statement
    }

    /// Returns whether a text is an expression or a list of expressions.
    func isExpression(_ text: String) -> Bool {
        check("return " + text) == .complete && text.contains { !$0.isWhitespace }
    }

    /// Splits statements that end in an expression, such as `a = 1; a`, before the expression.
    ///
    /// Returns nil if the text does not have this form.
    func splittingLastExpression(of text: String) -> (statements: String, expression: String)? {
        let bytes = Array(text.utf8)
        var ends: [Int] = []
        for token in LuaLexer.tokens(of: text) {
            let before = bytes[(ends.last ?? 0)..<token.range.lowerBound]
            if let line = before.lastIndex(of: UInt8(ascii: "\n")) { ends.append(line + 1) }
            if token.isSymbol(";") { ends.append(token.range.upperBound) }
        }
        // An expression of more than eight lines counts as unfinished.
        for end in ends.suffix(8).reversed() {
            let head = String(decoding: bytes[..<end], as: UTF8.self)
            let tail = String(decoding: bytes[end...], as: UTF8.self)
            if isExpression(tail), check(head) == .complete { return (head, tail) }
        }
        return nil
    }

    private func check(_ text: String) -> EntryStatus {
        do {
            // The newline makes a string without a closing quote invalid instead of unfinished.
            _ = try state.load(text + "\n", name: "=entry")
            return .complete
        } catch {
            return error.isIncomplete ? .incomplete : .wrong(error.message)
        }
    }
}

/// Recognizes the forms of entries that are not Lua.
enum EntryText {
    /// Splits the text of a file into entries as the prompt does, each with the number of lines before it.
    ///
    /// Returns nil if an entry is not valid.
    static func entries(of text: String) -> [(entry: String, linesBefore: Int)]? {
        let compiler = EntryCompiler()
        var entries: [(entry: String, linesBefore: Int)] = []
        var unfinished: [Substring] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            unfinished.append(line)
            let entry = unfinished.joined(separator: "\n")
            if entry.allSatisfy(\.isWhitespace) {
                unfinished = []
                continue
            }
            switch compiler.status(of: entry) {
            case .incomplete: continue
            case .wrong: return nil
            case .complete:
                entries.append((entry, index + 1 - unfinished.count))
                unfinished = []
            }
        }
        return unfinished.isEmpty ? entries : nil
    }

    /// Returns whether an entry is a dot command: a dot and a letter.
    ///
    /// No Lua statement begins this way.
    static func isCommand(_ entry: String) -> Bool {
        let trimmed = entry.drop { $0.isWhitespace }
        return trimmed.first == "." && trimmed.dropFirst().first?.isLetter == true
    }

    /// Returns whether an entry has the form `= expression`.
    static func isExpressionOnly(_ entry: String) -> Bool {
        entry.first { !$0.isWhitespace } == "="
    }

    /// Returns the Lua text, without the `=` of `= expression`.
    static func lua(_ entry: String) -> String {
        guard isExpressionOnly(entry), let sign = entry.firstIndex(of: "=") else { return entry }
        return String(entry[entry.index(after: sign)...])
    }
}
