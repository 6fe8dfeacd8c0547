import CEdit

// Entries with several lines: the arrow keys move between the lines first, and then between entries.

extension LineEditor {
    /// A key sequence that no keyboard produces.
    ///
    /// Pushing it as input runs the function that is bound to it.
    static let initialKey = "\u{1B}[1;95C"

    /// Handles the up arrow: moves to the line above, restores the previously typed lines, or recalls the previous
    /// entry.
    func moveUp() -> UInt8 {
        let before = typed.before
        guard let end = before.lastIndex(of: "\n") else {
            if hasEarlierLines {
                needsEarlierLines = true
                return UInt8(CC_NEWLINE)
            }
            return recall(by: -1, startingWith: prefixToRecall)
        }
        let column = before[before.index(after: end)...].unicodeScalars.count
        let above = before[..<end]
        let start = above.lastIndex(of: "\n").map { above.index(after: $0) } ?? above.startIndex
        let length = above[start...].unicodeScalars.count
        moveCursor(by: -(column + 1 + max(0, length - column)))
        return UInt8(CC_REFRESH)
    }

    /// Handles the down arrow: moves to the line below, or recalls the next entry.
    func moveDown() -> UInt8 {
        let (before, after) = typed
        guard let end = after.firstIndex(of: "\n") else {
            return recall(by: 1, startingWith: prefixToRecall)
        }
        let start = before.lastIndex(of: "\n").map { before.index(after: $0) } ?? before.startIndex
        let column = before[start...].unicodeScalars.count
        let below = after[after.index(after: end)...].prefix { $0 != "\n" }
        let length = below.unicodeScalars.count
        moveCursor(by: after[..<end].unicodeScalars.count + 1 + min(column, length))
        return UInt8(CC_REFRESH)
    }

    /// Handles the page up key: recalls the previous entry.
    func recallEarlier() -> UInt8 { recall(by: -1, startingWith: "") }

    /// Handles the page down key: recalls the next entry.
    func recallLater() -> UInt8 { recall(by: 1, startingWith: "") }

    /// The beginning of the entries to recall: the text that was typed before the first of them.
    private var prefixToRecall: String {
        if historyPosition == history.entries.count {
            let (before, after) = typed
            recalledPrefix = after.isEmpty ? before : ""
        }
        return recalledPrefix
    }

    /// Replaces the typed text with the next entry in a direction that begins with a text, or with the new entry after
    /// the last one.
    ///
    /// Saves the typed text with its changes for a later return. At both ends of the history, nothing changes.
    private func recall(by step: Int, startingWith prefix: String) -> UInt8 {
        let entries = history.entries
        let (before, after) = typed
        var position = historyPosition + step
        while entries.indices.contains(position),
            !entries[position].hasPrefix(prefix) || entries[position] == before + after
        {
            position += step
        }
        guard (0...entries.count).contains(position) else { return beep() }
        drafts[historyPosition] = before + after
        historyPosition = position
        let text = drafts[position] ?? (position < entries.count ? entries[position] : "")
        replaceTyped(with: (text, ""))
        return UInt8(CC_REFRESH)
    }

    /// Handles the left arrow: moves by one character with its marks.
    func moveLeft() -> UInt8 {
        moveCursor(by: -(typed.before.last?.unicodeScalars.count ?? 0))
        return UInt8(CC_REFRESH)
    }

    /// Handles the right arrow: accepts the suggestion at the end of the line, otherwise moves the cursor.
    func moveRight() -> UInt8 {
        if let suggestion {
            insert(suggestion)
        } else {
            moveCursor(by: typed.after.first?.unicodeScalars.count ?? 0)
        }
        return UInt8(CC_REFRESH)
    }

    /// Handles the backspace key: deletes the last mark of a character, or a whole character.
    func deleteBefore() -> UInt8 {
        guard let last = typed.before.last, let scalar = last.unicodeScalars.last else {
            return beep()
        }
        let category = scalar.properties.generalCategory
        let isMark = scalar != "\u{FE0F}" && [.nonspacingMark, .spacingMark].contains(category)
        el_deletestr(editor, Int32(isMark ? 1 : last.unicodeScalars.count))
        return UInt8(CC_REFRESH)
    }

    /// Handles the delete key.
    func deleteAfter() -> UInt8 {
        guard let first = typed.after.first else { return beep() }
        moveCursor(by: first.unicodeScalars.count)
        el_deletestr(editor, Int32(first.unicodeScalars.count))
        return UInt8(CC_REFRESH)
    }

    /// Handles Ctrl-D: ends the input on a line without typed text, otherwise deletes.
    func deleteOrEnd() -> UInt8 {
        let (before, after) = typed
        let isIndent = before == initial.before && before.allSatisfy { $0 == " " }
        return isIndent && after.isEmpty ? UInt8(CC_EOF) : deleteAfter()
    }

    /// Replaces the typed text; the cursor is placed between the two parts of the new text.
    func replaceTyped(with text: (before: String, after: String)) {
        let (before, after) = typed
        moveCursor(by: after.unicodeScalars.count)
        let length = before.unicodeScalars.count + after.unicodeScalars.count
        if length > 0 { el_deletestr(editor, Int32(clamping: length)) }
        insert(text.before + text.after)
        moveCursor(by: -text.after.unicodeScalars.count)
    }

    /// Handles Home and Ctrl-A: moves to the start of the current line of the entry.
    func moveToLineStart() -> UInt8 {
        let before = typed.before
        let start = before.lastIndex(of: "\n").map { before.index(after: $0) }
        moveCursor(by: -before[(start ?? before.startIndex)...].unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    /// Handles End and Ctrl-E: moves to the end of the current line of the entry.
    func moveToLineEnd() -> UInt8 {
        moveCursor(by: typed.after.prefix { $0 != "\n" }.unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    /// Handles Alt-Enter: inserts a line break at the cursor.
    func breakLine() -> UInt8 {
        insert("\n")
        return UInt8(CC_REFRESH)
    }

    /// Inserts the initial text of the line and sets the cursor.
    func insertInitial() -> UInt8 {
        insert(initial.before + initial.after)
        moveCursor(by: -initial.after.unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    func push(_ keys: String) -> UInt8 {
        withWide(keySequence(keys)) { el_wpush(editor, $0) }
        return UInt8(CC_NORM)
    }

    func moveCursor(by distance: Int) {
        if distance != 0 { el_cursor(editor, Int32(clamping: distance)) }
    }
}
