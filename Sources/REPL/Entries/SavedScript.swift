import LuaHost
import Reference
import StoreBindings

/// The entries of a session as a script that runs.
///
/// Expressions print what the prompt showed; dot commands become calls or comments.
struct SavedScript {
    /// An entry that went well.
    struct Entry {
        /// The text as it was typed.
        let text: String
        /// How many values the prompt showed.
        var values = 0
        /// Whether observers, effects or timers were active afterwards.
        var isObserved = false
    }

    let entries: [Entry]
    /// How the script opens the store that the session began with; empty if it opens none.
    let opening: String
    /// Whether something keeps a script running at the end.
    let keepsRunning: Bool

    /// The script's text.
    var text: String {
        var lines = [
            "-- Saved from a session of moonpool. Run it with: moonpool FILE", "",
            "local moonpool = require \"moonpool\"",
        ]
        if !opening.isEmpty { lines.append(opening) }
        lines.append("")
        let namesResults = entries.contains { Self.usesResults($0.text) }
        var number = 0
        for entry in entries {
            lines.append(lua(entry, namesResults: namesResults, &number))
            if entry.isObserved { lines.append("store:refresh()") }
        }
        if keepsRunning {
            lines += [
                "",
                "-- Observers, effects and timers would keep the script running; the session ended here.",
                "moonpool.stop()",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Whether an entry reads `_`, `_1` or the like.
    private static func usesResults(_ text: String) -> Bool {
        LuaLexer.tokens(of: EntryText.lua(text)).contains {
            $0.kind == .name && $0.text.hasPrefix("_") && $0.text.dropFirst().allSatisfy(\.isNumber)
        }
    }

    private func lua(_ entry: Entry, namesResults: Bool, _ number: inout Int) -> String {
        let text = EntryText.lua(entry.text)
        if EntryText.isCommand(entry.text) { return Self.command(entry.text) }
        let trimmed = text.trimmingSpace
        if trimmed.hasPrefix("return"), !trimmed.dropFirst(6).prefix(1).allSatisfy(\.isLetter) {
            number += max(1, entry.values)
            return "print(moonpool.inspect((function() \(trimmed) end)()))"
        }
        // A line that begins with a parenthesis would continue the one before.
        let start = trimmed.hasPrefix("(") ? ";" : ""
        guard entry.values > 0 else { return start + trimmed }
        number += entry.values
        guard !namesResults else {
            return "_ = \(trimmed)\n_\(number - entry.values + 1) = _\nprint(moonpool.inspect(_))"
        }
        guard entry.values > 1 else { return "print(moonpool.inspect(\(trimmed)))" }
        return
            "for _, value in ipairs(table.pack(\(trimmed))) do print(moonpool.inspect(value)) end"
    }

    /// A dot command as a call, or as a comment where a script has nothing like it.
    private static func command(_ entry: String) -> String {
        let words = entry.trimmingSpace.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        let rest = words.count > 1 ? String(words[1]).trimmingSpace : ""
        switch words.first.map(String.init) ?? "" {
        case ".begin": return "store:begin_write()"
        case ".commit": return "store:commit_write()"
        case ".rollback": return "store:cancel_write()"
        case ".undo" where rest.isEmpty: return "store:undo()"
        case ".redo": return "store:redo()"
        case ".load":
            return "dofile(\"\(rest.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\")"
        case ".live" where !rest.isEmpty && !rest.hasPrefix("off"):
            return "moonpool.effect(function() print(moonpool.inspect(\(rest))) end)"
        default:
            return entry.split(separator: "\n").map { "-- \($0)" }.joined(separator: "\n")
        }
    }
}

extension String {
    fileprivate var trimmingSpace: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
