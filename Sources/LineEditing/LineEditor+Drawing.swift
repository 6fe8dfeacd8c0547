import CEdit

// The editor draws the line itself: libedit, which edits it, writes to /dev/null. Each time the editor waits for a key,
// it writes a frame over the last one.

extension LineEditor {
    /// Draws the prompt and the typed line.
    func draw() {
        let (before, after) = typed
        let frame = frame(before, after)
        if let drawn, drawn.frame == frame, drawn.window == windowSize { return }
        let (text, cursorRow) = frame.drawing(windowRows: windowSize.rows)
        write(toFrameStart + "\u{1B}[J" + text)
        drawn = (frame, cursorRow, windowSize)
    }

    /// Draws the line as it was entered, in all its rows, and begins a new row.
    func drawEntered(_ line: String) {
        shownHint = nil
        let colors = painter?(line) ?? []
        let frame = LineFrame(
            prompt: prompt, before: line, after: "", colors: colors, columns: windowSize.columns)
        write(toFrameStart + "\u{1B}[J" + frame.whole)
        drawn = nil
    }

    /// Erases prompt and line, and leaves the cursor at the start of the prompt.
    func eraseLine() {
        write(toFrameStart + "\u{1B}[J")
        drawn = nil
    }

    /// Erases prompt and line, prints bytes, and draws both again.
    func interject(_ bytes: [UInt8]) {
        eraseLine()
        // Raw mode leaves output processing on, so a line feed still returns the carriage.
        bytes.withUnsafeBytes { Descriptor.write(descriptor, $0) }
        draw()
    }

    /// The sequence that moves the cursor from its place in the drawn frame to the start of the prompt.
    private var toFrameStart: String {
        guard let drawn else { return "\r" }
        var row = drawn.cursorRow
        if drawn.window.columns != windowSize.columns {
            // The terminal has wrapped the rows again.
            let (before, after) = typed
            row = frame(before, after).cursorRow
        }
        // The cursor is never above the first row of the window, even if the line has scrolled out of it.
        row = min(row, max(windowSize.rows - 1, 0))
        return row > 0 ? "\u{1B}[\(row)A\r" : "\r"
    }

    private func frame(_ before: String, _ after: String) -> LineFrame {
        let isAtEnd = after.isEmpty && !before.isEmpty && painter != nil
        shownHint = isAtEnd ? hint?(before) : nil
        let rest = isAtEnd ? suggestion ?? "" : ""
        return LineFrame(
            prompt: prompt, before: before, after: after, colors: painter?(before + after) ?? [],
            suggestion: rest + (shownHint.map { "  " + $0 } ?? ""), columns: windowSize.columns)
    }

    /// Returns the number of rows that a prompt and the line after it take.
    package func rows(prompt: String, line: String) -> Int {
        LineFrame(prompt: prompt, before: line, after: "", columns: windowSize.columns).count
    }

    /// Erases a number of rows above the cursor, which is at the start of a row.
    package func eraseRows(_ count: Int) {
        let count = min(count, max(windowSize.rows - 1, 0))
        if count > 0 { write("\u{1B}[\(count)A\r\u{1B}[J") }
    }

    /// Handles Ctrl-L: clears the screen.
    func clearScreen() -> UInt8 {
        write("\u{1B}[H\u{1B}[2J")
        drawn = nil
        return UInt8(CC_REFRESH)
    }

    /// The rest of the newest entry that begins with the typed text, which is drawn in gray; nil if the cursor is not at
    /// the end of the text.
    var suggestion: String? {
        guard painter != nil else { return nil }
        let (before, after) = typed
        guard after.isEmpty, !before.isEmpty, !before.contains("\n"),
            let entry = history.newest(startingWith: before)
        else { return nil }
        let rest = String(entry.dropFirst(before.count))
        return rest.isEmpty ? nil : rest
    }
}
