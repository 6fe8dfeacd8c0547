import LuaHost

/// The status of the lines typed so far.
enum EntryStatus: Equatable, Sendable {
    /// The entry can run.
    case complete
    /// The entry can become valid with more lines.
    case incomplete
    /// The entry is invalid; the compiler message.
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
        // `1 +` is not a statement, but the start of an expression.
        return expression == .incomplete ? .incomplete : statement
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
