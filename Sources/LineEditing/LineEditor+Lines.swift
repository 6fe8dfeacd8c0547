import CEdit

// Entries of several lines: the arrow keys move between their lines first, and between entries beyond the ends.

extension LineEditor {
    // Keys that no keyboard has: what is bound to them can be asked for by pushing them.
    static let historyKeys = (up: "\u{1B}[1;95A", down: "\u{1B}[1;95B")
    static let initialKey = "\u{1B}[1;95C"

    /// The arrow up: the line above, the lines typed before, or the entry before.
    func moveUp() -> UInt8 {
        let before = typed.before
        guard let end = before.lastIndex(of: "\n") else {
            if canTakeBack {
                wasTakenBack = true
                return UInt8(CC_NEWLINE)
            }
            return push(Self.historyKeys.up)
        }
        let column = before[before.index(after: end)...].unicodeScalars.count
        let above = before[..<end]
        let start = above.lastIndex(of: "\n").map { above.index(after: $0) } ?? above.startIndex
        let length = above[start...].unicodeScalars.count
        moveCursor(by: -(column + 1 + max(0, length - column)))
        return UInt8(CC_REFRESH)
    }

    /// The arrow down: the line below, or the entry after.
    func moveDown() -> UInt8 {
        let (before, after) = typed
        guard let end = after.firstIndex(of: "\n") else { return push(Self.historyKeys.down) }
        let start = before.lastIndex(of: "\n").map { before.index(after: $0) } ?? before.startIndex
        let column = before[start...].unicodeScalars.count
        let below = after[after.index(after: end)...].prefix { $0 != "\n" }
        let length = below.unicodeScalars.count
        moveCursor(by: after[..<end].unicodeScalars.count + 1 + min(column, length))
        return UInt8(CC_REFRESH)
    }

    /// Alt-Enter: a new line, wherever the cursor is.
    func breakLine() -> UInt8 {
        insert("\n")
        return UInt8(CC_REFRESH)
    }

    /// Puts the text in place that the line begins with, the cursor inside it.
    func insertInitial() -> UInt8 {
        insert(initial.before + initial.after)
        moveCursor(by: -initial.after.unicodeScalars.count)
        return UInt8(CC_REFRESH)
    }

    func push(_ keys: String) -> UInt8 {
        withWide(keys) { el_wpush(editor, $0) }
        return UInt8(CC_NORM)
    }

    private func moveCursor(by distance: Int) {
        if distance != 0 { el_cursor(editor, Int32(clamping: distance)) }
    }
}
