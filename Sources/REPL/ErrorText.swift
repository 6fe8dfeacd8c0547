import LineEditing
import LuaHost
import Reference

/// Formats errors: message, source excerpt, traceback.
struct ErrorText {
    let style: Style
    /// Wraps messages at the width of the window.
    var wrap = TextWrap(columns: 1_000)
    /// Returns the text of an entry by its name in messages.
    var source: (_ chunk: String) -> String?
    /// Returns a suggestion for a misspelled name in the message.
    var hint: (_ message: String) -> String? = { _ in nil }
    /// The name of the last typed entry.
    ///
    /// It is still on the screen, so a one-line entry is not repeated.
    var current = ""
    /// The number of stack frames below the entry, which belong to sleeping handlers.
    var framesBelow = 0
    /// Formats an error value that is not a string.
    var print: (LuaValue) -> String

    private static let longestTraceback = 8

    /// Returns the complete report, without a trailing newline.
    func text(of error: any Error) -> String {
        if error is LuaInterrupted { return style.paint("interrupted", .error) }
        guard let error = error as? LuaError else { return wrapped("\(error)") }
        if error.kind == .interrupted, error.limit == nil {
            return style.paint("interrupted", .error) + way(error.traceback)
        }
        var message = Self.withoutOwnLocation(error.message)
        if case .table = error.value, message.hasPrefix("(error object") {
            message = "error: " + print(error.value)
        }
        var lines = [wrapped(message)]
        if let hint = hint(message) { lines.append(hint) }
        if let excerpt = excerpt(message) { lines.append(excerpt) }
        return lines.joined(separator: "\n") + way(error.traceback)
    }

    /// The beginning of the names of the program's own Lua files, whose locations are not the user's.
    private static let ownChunk = "[moonpool "

    private static func withoutOwnLocation(_ message: String) -> String {
        guard message.hasPrefix(ownChunk) else { return message }
        let parts = message.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, Int(parts[1]) != nil else { return message }
        return String(parts[2].drop { $0 == " " })
    }

    /// Returns a message with its first line wrapped; further lines are excerpts with marks below them.
    func wrapped(_ message: String) -> String {
        let parts = message.split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false
        ).map(String.init)
        let lines = wrap.lines(parts[0]) + parts.dropFirst()
        return style.paint(lines.joined(separator: "\n"), .error)
    }

    /// Returns the lines around the location at the start of a message, if the source is known.
    ///
    /// For the last typed entry of one line, returns the line only if a word can be marked in it.
    func excerpt(_ message: String) -> String? {
        let parts = message.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let number = Int(parts[1]), let text = source(String(parts[0]))
        else {
            return nil
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(number - 1) else { return nil }
        let mark = Self.mark(for: message, in: String(lines[number - 1]))
        guard lines.count > 1 || parts[0] != current else {
            return mark.map { "  \(lines[0])\n  \(style.paint($0, .error))" }
        }
        let shown = max(1, number - 1)...min(lines.count, number + 1)
        let width = String(shown.upperBound).count
        return shown.map { line in
            let label = String(line)
            let padding = String(repeating: " ", count: width - label.count)
            let text = "\(line == number ? ">" : " ") \(padding)\(label) | \(lines[line - 1])"
            guard line == number else { return style.paint(text, .dim) }
            let margin = String(repeating: " ", count: width + 5)
            return text + (mark.map { "\n" + margin + style.paint($0, .error) } ?? "")
        }.joined(separator: "\n")
    }

    /// Returns the traceback if it has more calls than those already shown, which are the outermost ones.
    func way(_ traceback: String?, besides known: Int = 1) -> String {
        guard let traceback else { return "" }
        let all = traceback.split(separator: "\n").dropFirst().map { line in
            String(line.drop { $0 == "\t" || $0 == " " })
        }
        // Native functions that the program's own files call are not the user's either.
        var calls = zip(all, all.dropFirst() + [""]).filter { call, caller in
            !call.hasPrefix(Self.ownChunk)
                && !(call.hasPrefix("[C]: ") && caller.hasPrefix(Self.ownChunk))
        }.map(\.0)
        var others = framesBelow
        while others > 0, let last = calls.popLast() {
            if !last.hasPrefix("(...tail") { others -= 1 }
        }
        while let last = calls.last, last == "[C]: in ?" || last.hasPrefix("(...tail") {
            calls.removeLast()
        }
        // The message already contains the location of the error.
        if calls.first?.hasPrefix("[C]: ") == true { calls.removeFirst() }
        guard calls.count > known else { return "" }
        if calls.count > Self.longestTraceback {
            let dropped = calls.count - Self.longestTraceback
            calls.replaceSubrange(
                (Self.longestTraceback - 2)..<(calls.count - 2), with: ["… \(dropped) more calls"])
        }
        return calls.map { "\n" + style.paint("  " + $0, .dim) }.joined()
    }
}

extension ErrorText {
    /// The maximum length of a line that can have a mark below it; longer lines wrap, which would misplace the mark.
    private static let widest = 120

    /// Returns `^~~` to print below the word of a line that a Lua error message refers to, or nil if it is ambiguous.
    static func mark(for message: String, in line: String) -> String? {
        guard TerminalText.width(line) <= widest, let range = range(of: message, in: line) else {
            return nil
        }
        let bytes = Array(line.utf8)
        let before = String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
        let word = String(decoding: bytes[range], as: UTF8.self)
        return String(repeating: " ", count: TerminalText.width(before)) + "^"
            + String(repeating: "~", count: max(0, TerminalText.width(word) - 1))
    }

    private static func range(of message: String, in line: String) -> Range<Int>? {
        if message.hasSuffix("near <eof>") { return line.utf8.count..<line.utf8.count }
        let tokens = LuaLexer.allTokens(of: line)
        // `unexpected symbol near '='`: the compiler has read up to this token.
        if let word = quoted(at: "near '", in: message, end: "'") {
            return tokens.last { $0.text == word || $0.text.hasPrefix(word) }?.range
        }
        // `attempt to index a nil value (field 'owner')`: a name, which can occur more than once.
        for kind in ["global", "local", "upvalue", "field", "method"] {
            guard let name = quoted(at: "(\(kind) '", in: message, end: "')") else { continue }
            let found = tokens.filter { $0.kind == .name && $0.text == name }
            return found.count == 1 ? found[0].range : nil
        }
        return nil
    }

    /// Returns the text between the last occurrence of `start` and `end` at the end of the message.
    private static func quoted(at start: String, in message: String, end: String) -> String? {
        guard message.hasSuffix(end), let from = message.ranges(of: start).last?.upperBound else {
            return nil
        }
        let word = message[from...].dropLast(end.count)
        return word.isEmpty ? nil : String(word)
    }
}
