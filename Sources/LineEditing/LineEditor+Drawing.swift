import CEdit
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        Descriptor.write(descriptor, bytes)
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

/// A run of characters with one color.
package struct ColoredRun: Equatable, Sendable {
    /// The number of Unicode scalars.
    package var length: Int
    /// The numbers of an SGR sequence such as `32`; nil for the terminal's own color.
    package var code: String?

    /// Creates a run of a number of Unicode scalars.
    package init(_ length: Int, _ code: String?) {
        self.length = length
        self.code = code
    }
}

/// The rows of a prompt with a line, as they are written to the terminal.
///
/// Terminals disagree about the width of joined characters, so no position depends on it: text is written from the
/// start of a row without jumps, a row that may be narrower than counted ends with a line break, and the cursor is set
/// by writing the row again up to the cursor.
struct LineFrame: Equatable {
    /// A row of the window.
    private struct Row: Equatable {
        var text = ""
        var width = 0
        /// Whether each character has the same width on all terminals.
        var isCertain = true
        /// Whether the next row continues the line of the text.
        var isWrapped = false
    }

    private var rows = [Row()]
    private let columns: Int
    private var color: String?
    /// The row of the cursor.
    private(set) var cursorRow = 0
    /// The text of the cursor's row before the cursor.
    private var beforeCursor = ""
    private var suggestion = ""

    /// The number of rows of an entered line.
    var count: Int { rows.count - (endsFull ? 1 : 0) }

    /// Lays out a prompt and a line with the cursor between its parts, in a window of this width.
    ///
    /// In the prompt, text between two `promptEscape` characters takes no space. The suggestion follows the line as far
    /// as it fits into the row.
    init(
        prompt: String, before: String, after: String, colors: [ColoredRun] = [],
        suggestion: String = "", columns: Int
    ) {
        self.columns = max(columns, 2)
        let parts = prompt.split(
            separator: Character(LineEditor.promptEscape), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index % 2 == 1 {
                rows[rows.count - 1].text += part
            } else {
                for character in part { add(character) }
            }
        }
        let cursor = before.unicodeScalars.count
        var position = 0
        var runs = colors[...]
        var isBeforeCursor = true
        for character in before + after {
            let length = character.unicodeScalars.count
            while let run = runs.first, run.length <= 0 { runs.removeFirst() }
            paint(runs.first?.code)
            // A cursor inside a character is shown before it.
            if isBeforeCursor, position + length > cursor {
                isBeforeCursor = false
                if character != "\n" { wrap(before: Self.width(of: character).columns) }
                setCursor()
            }
            add(character)
            position += length
            var rest = length
            while rest > 0, let run = runs.first {
                let taken = min(rest, run.length)
                runs[runs.startIndex].length -= taken
                rest -= taken
                if taken == run.length { runs.removeFirst() }
            }
        }
        paint(nil)
        endsFull = rows[rows.count - 1].width >= self.columns
        if endsFull { rows.append(Row()) }
        guard isBeforeCursor else { return }
        setCursor()
        let free = self.columns - rows[rows.count - 1].width - 1
        let shown = free > 1 ? TerminalText.truncate(suggestion, to: free) : ""
        if shown.unicodeScalars.allSatisfy({ displayWidth($0) > 0 }) { self.suggestion = shown }
    }

    private mutating func setCursor() {
        cursorRow = rows.count - 1
        beforeCursor = rows[cursorRow].text + (color == nil ? "" : "\u{1B}[0m")
    }

    private mutating func paint(_ code: String?) {
        if code == color { return }
        rows[rows.count - 1].text += code.map { "\u{1B}[0;\($0)m" } ?? "\u{1B}[0m"
        color = code
    }

    /// Begins a new row if a character of this width does not fit.
    private mutating func wrap(before width: Int) {
        if rows[rows.count - 1].width + width > columns {
            rows[rows.count - 1].isWrapped = true
            breakRow()
        }
    }

    private mutating func breakRow() {
        let before = color
        paint(nil)
        rows.append(Row())
        paint(before)
    }

    private mutating func add(_ character: Character) {
        if character == "\n" || character == "\r\n" { return breakRow() }
        let (text, width, isCertain) = Self.width(of: character)
        // What replaces a character can be divided.
        let pieces = isCertain && width > 2 ? text.map { (String($0), 1) } : [(text, width)]
        for (text, width) in pieces {
            wrap(before: width)
            rows[rows.count - 1].text += text
            rows[rows.count - 1].width += width
            if !isCertain { rows[rows.count - 1].isCertain = false }
        }
    }

    /// Returns the text of a character on the screen and its greatest width.
    private static func width(
        of character: Character
    ) -> (text: String, columns: Int, isCertain: Bool) {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return ("", 0, true) }
        if first == "\t" { return ("    ", 4, true) }
        if first.value < 0x20 || first.value == 0x7F {
            return ("^\(Character(Unicode.Scalar(UInt8(first.value ^ 0x40))))", 2, true)
        }
        if let hidden = scalars.first(where: { displayWidth($0) < 0 }) {
            let digits = String(hidden.value, radix: 16, uppercase: true)
            let text = "\\U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            return (text, text.count, true)
        }
        // Joiners and variation selectors change the width of their neighbors on some terminals.
        let isJoined = scalars.contains { $0 == "\u{200D}" || $0 == "\u{FE0F}" }
        let rest = scalars.dropFirst().reduce(0) { $0 + displayWidth($1) }
        let width = displayWidth(first) + rest + (isJoined ? 1 : 0)
        // A mark without a base character combines with the character before it, or is not shown.
        return (String(character), width, !isJoined && rest == 0)
    }

    /// Returns the text that draws the frame from the first column of its first row, and sets the cursor.
    ///
    /// Of a frame that is higher than the window, the rows around the cursor are drawn; returns also the drawn row of
    /// the cursor.
    func drawing(windowRows: Int) -> (text: String, cursorRow: Int) {
        let height = max(windowRows, 1)
        let first = rows.count > height ? max(0, cursorRow - height + 1) : 0
        let shown = rows[first..<min(rows.count, first + height)]
        assert(shown.indices.contains(cursorRow), "the row of the cursor is drawn")
        var text = body(shown)
        let last = shown.endIndex - 1
        let isAtEnd =
            cursorRow == rows.count - 1 && beforeCursor.count >= rows[cursorRow].text.count
        if last == rows.count - 1, !suggestion.isEmpty {
            text += "\u{1B}[90m\(suggestion)\u{1B}[0m"
        }
        if !isAtEnd || !suggestion.isEmpty {
            if last > cursorRow { text += "\u{1B}[\(last - cursorRow)A" }
            text += "\r" + beforeCursor
        }
        return (text, cursorRow - first)
    }

    /// Returns the text that draws all rows from the first column of the first one, and begins a new row.
    var whole: String { body(rows[...]) + (endsFull ? "" : "\r\n") }

    /// Whether the last row exists only for the cursor after a full row.
    private var endsFull = false

    private func body(_ shown: ArraySlice<Row>) -> String {
        var text = ""
        for index in shown.indices {
            text += rows[index].text
            guard index + 1 < shown.endIndex else { break }
            // The terminal itself continues in the next row, so that it can join the rows when the window is resized.
            let wraps = rows[index].isWrapped && rows[index].isCertain
            text += wraps ? "" : "\r\n"
        }
        return text
    }
}

/// A lock for running libedit, which draws through the terminal library.
///
/// The terminal library builds its sequences in static memory of the process (`tgoto` and related functions).
///
/// An editor releases the lock while it waits for a key, so that editors on several threads do not block each other.
enum DrawingTurn {
    // The unchecked access is safe: the mutex is created once, never freed, and used only by POSIX functions.
    nonisolated(unsafe) private static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    static func take() { pthread_mutex_lock(mutex) }
    static func give() { pthread_mutex_unlock(mutex) }
}
