import LuaHost

/// What the compiler says of the lines typed so far.
enum EntryStatus: Equatable, Sendable {
    /// Can be run.
    case complete
    /// May become valid if more lines follow.
    case incomplete
    /// Wrong, whatever follows; the message.
    case wrong(String)
}

/// Tells whole entries from unfinished ones, by Lua's own compiler.
///
/// Runs nothing.
///
/// The main thread has one with a state of its own, so that typing never waits for the script.
final class EntryCompiler {
    private let state = LuaState(libraries: [])

    init() {}

    /// Whether an entry is one: a command, an expression, or statements.
    func status(of entry: String) -> EntryStatus {
        let text = EntryText.lua(entry)
        if EntryText.isCommand(entry) { return .complete }
        let expression = check("return " + text)
        if EntryText.isExpressionOnly(entry) || expression == .complete { return expression }
        let statement = check(text)
        if statement == .complete { return .complete }
        // `1 +` is no statement, but an expression that goes on.
        return expression == .incomplete ? .incomplete : statement
    }

    private func check(_ text: String) -> EntryStatus {
        do {
            // With its line end, so that a string that lacks its quote is wrong and not unfinished.
            _ = try state.load(text + "\n", name: "=entry")
            return .complete
        } catch {
            return error.isIncomplete ? .incomplete : .wrong(error.message)
        }
    }
}

/// The forms of an entry that are not Lua's.
enum EntryText {
    /// Whether it is a dot command: a dot and a letter.
    ///
    /// (No Lua begins so.)
    static func isCommand(_ entry: String) -> Bool {
        let trimmed = entry.drop { $0.isWhitespace }
        return trimmed.first == "." && trimmed.dropFirst().first?.isLetter == true
    }

    /// Whether it is `= expression`.
    static func isExpressionOnly(_ entry: String) -> Bool {
        entry.first { !$0.isWhitespace } == "="
    }

    /// The Lua text: without the `=` of `= expression`.
    static func lua(_ entry: String) -> String {
        guard isExpressionOnly(entry), let sign = entry.firstIndex(of: "=") else { return entry }
        return String(entry[entry.index(after: sign)...])
    }
}
