import LuaHost

/// Errors for people: the message, the place in the source, the way there.
struct ErrorText {
    let style: Style
    /// The text of an entry by its name in messages.
    var source: (_ chunk: String) -> String?
    /// What a name in the message was probably meant to be.
    var hint: (_ message: String) -> String? = { _ in nil }
    /// The name of the entry that was just typed: it is on the screen, so one line of it is not shown again.
    var current = ""
    /// How many calls were going on before the entry, which came while a handler slept: they are none of its business.
    var framesBelow = 0
    /// Prints the value of `error(value)` that is no text.
    var print: (LuaValue) -> String

    private static let longestTraceback = 8

    /// The whole report, without a line end.
    func text(of error: any Error) -> String {
        if error is LuaInterrupted { return style.paint("interrupted", .error) }
        guard let error = error as? LuaError else { return style.paint("\(error)", .error) }
        if error.kind == .interrupted, error.limit == nil {
            return style.paint("interrupted", .error) + way(error.traceback)
        }
        var message = error.message
        if case .table = error.value, message.hasPrefix("(error object") {
            message = "error: " + print(error.value)
        }
        var lines = [style.paint(message, .error)]
        if let hint = hint(message) { lines.append(hint) }
        if let excerpt = excerpt(message) { lines.append(excerpt) }
        return lines.joined(separator: "\n") + way(error.traceback)
    }

    /// The lines around the place that a message begins with, where it is an entry of several lines or an earlier one; of
    /// the entry that was just typed, its line where a word of it can be marked.
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

    /// The calls that led there, when there are more than those that are shown already, from the bottom: the entry itself.
    func way(_ traceback: String?, besides known: Int = 1) -> String {
        guard let traceback else { return "" }
        var calls = traceback.split(separator: "\n").dropFirst().map { line in
            String(line.drop { $0 == "\t" || $0 == " " })
        }
        var others = framesBelow
        while others > 0, let last = calls.popLast() {
            if !last.hasPrefix("(...tail") { others -= 1 }
        }
        while let last = calls.last, last == "[C]: in ?" || last.hasPrefix("(...tail") {
            calls.removeLast()
        }
        // What raised it is in the message.
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
