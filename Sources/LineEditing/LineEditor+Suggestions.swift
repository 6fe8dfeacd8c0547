import CEdit

// Suggestions: the rest of the newest entry that begins with the typed text, in gray after the cursor. libedit does not
// know about suggestions: they are drawn while the editor waits for a key, and erased before libedit receives the key.

extension LineEditor {
    static let rightKey = "\u{1B}[1;95D"

    /// The rest of the newest entry that begins with the typed text; nil if the cursor is not at the end of the text.
    var suggestion: String? {
        guard painter != nil else { return nil }
        let (before, after) = typed
        guard after.isEmpty, !before.isEmpty, !before.contains("\n"),
            let entry = history.newest(startingWith: before)
        else { return nil }
        let rest = String(entry.dropFirst(before.count))
        return rest.isEmpty ? nil : rest
    }

    /// The hint about the typed text; nil if the cursor is not at the end of the text.
    var currentHint: String? {
        guard painter != nil, let hint else { return nil }
        let (before, after) = typed
        return after.isEmpty && !before.isEmpty ? hint(before) : nil
    }

    /// Draws the suggestion and the hint after the cursor, as far as they fit into the row.
    func drawSuggestion() {
        eraseSuggestion()
        let (suggestion, hint) = (suggestion, currentHint)
        shownHint = hint
        let text = (suggestion ?? "") + (hint.map { "  " + $0 } ?? "")
        guard !text.isEmpty else { return }
        var layout = TypedLineLayout(columns: windowSize.columns)
        layout.add(prompt: prompt, escape: Self.promptEscape)
        layout.add(text: typed.before.unicodeScalars)
        let cursor = layout.cursor(before: "")
        let free = windowSize.columns - cursor.column - 1
        guard free > 1 else { return }
        let shown = TerminalText.truncate(text, to: free)
        let width = TerminalText.width(shown)
        guard width > 0, shown.unicodeScalars.allSatisfy({ displayWidth($0) > 0 }) else { return }
        write("\u{1B}[90m\(shown)\u{1B}[0m\u{1B}[K\u{1B}[\(width)D")
        isSuggesting = true
    }

    /// Erases the suggestion and the hint.
    func eraseSuggestion() {
        guard isSuggesting else { return }
        isSuggesting = false
        write("\u{1B}[K")
    }

    /// Handles the right arrow: accepts the suggestion at the end of the line, otherwise moves the cursor.
    func moveRight() -> UInt8 {
        guard let suggestion else {
            guard usesViKeys else { return push(Self.rightKey) }
            // In vi mode, libedit's own function does not move past the last character.
            moveCursor(by: typed.after.isEmpty ? 0 : 1)
            return UInt8(CC_REFRESH)
        }
        insert(suggestion)
        return UInt8(CC_REFRESH)
    }
}
