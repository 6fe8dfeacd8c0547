import CEdit

extension LineEditor {
    /// The previous versions of the typed text, for undo.
    struct Undo {
        private var earlier: [(before: String, after: String)] = []
        private var current = (before: "", after: "")
        private var isTyping = false

        private static let limit = 500

        /// Records the typed text.
        ///
        /// Typing a word counts as one change.
        mutating func note(_ text: (before: String, after: String)) {
            guard text.before + text.after != current.before + current.after else {
                current = text
                return
            }
            let typed = text.before.dropLast()
            let isInsertion = typed == current.before && text.after == current.after
            let beginsWord =
                text.before.last?.isWhitespace == true && typed.last?.isWhitespace == false
            if !isInsertion || !isTyping || beginsWord {
                earlier.append(current)
                if earlier.count > Self.limit { earlier.removeFirst() }
            }
            isTyping = isInsertion
            current = text
        }

        /// Returns the text before the last change, or nil if there was none.
        mutating func undo() -> (before: String, after: String)? {
            guard let last = earlier.popLast() else { return nil }
            isTyping = false
            current = last
            return last
        }
    }

    /// The maximum length of a text that is recorded while keys are pending, because recording copies the text.
    private static let longestNoted = 4_096

    /// Records the typed text before the next key changes it.
    func noteForUndo() {
        guard let info = el_wline(editor)?.pointee, let start = info.buffer,
            let end = info.lastchar,
            end - start <= Self.longestNoted || !Descriptor.hasInput(input)
        else { return }
        let typed = typed
        // During an incremental search, the last line of the text shows the pattern.
        let last = (typed.before + typed.after).split(separator: "\n").last ?? ""
        if ["bck:", "bck?", "fwd:", "fwd?"].contains(last.prefix(4)) { return }
        undoing.note(typed)
    }

    /// Handles Ctrl-_: restores the text before the last change.
    func undo() -> UInt8 {
        undoing.note(typed)
        guard let text = undoing.undo() else { return beep() }
        replaceTyped(with: text)
        return UInt8(CC_REFRESH)
    }
}
