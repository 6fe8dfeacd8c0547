// Colors while typing. libedit draws only plain text. When it waits for a key, the position of each character on the
// screen follows from `TypedLineLayout`. The editor writes the same characters again at the same positions, in color,
// and restores the cursor. libedit's model of the screen remains correct, because the characters and the cursor do not
// change.

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

extension LineEditor {
    /// Draws the typed line again in color, and restores the cursor.
    ///
    /// Without colors, this only moves the cursor, which libedit leaves in the second half of a wide character when
    /// text is inserted before that character.
    func paintLine() {
        let (before, after) = typed
        if before.isEmpty, after.isEmpty { return }
        let painting = LinePainting(
            prompt: prompt, before: before, after: after, window: windowSize)
        if let text = painting.text(painter?(before + after) ?? []) { write(text) }
    }

    /// Draws a line that was entered before it could be drawn in color, from the row below it.
    ///
    /// If keys arrive faster than they are drawn, libedit can leave a blank in place of a wide character.
    func paintEnteredLine(_ line: String) {
        if line.isEmpty { return }
        let painting = LinePainting(prompt: prompt, before: line, after: "", window: windowSize)
        if let text = painting.text(painter?(line) ?? [], isEntered: true) { write(text) }
    }
}

/// Creates the text that colors a line on the screen, with the cursor in the line.
struct LinePainting {
    let prompt: String
    let before: String
    let after: String
    let window: (columns: Int, rows: Int)

    /// Returns the control sequences and the text; nil if the positions on the screen are uncertain.
    ///
    /// Plain text is written too, because it may have had a color before. With `isEntered`, the cursor is in the row
    /// below the line and remains there.
    func text(_ runs: [ColoredRun], isEntered: Bool = false) -> String? {
        let line = Array((before + after).unicodeScalars)
        // libedit draws the number of a character that cannot be displayed.
        guard line.allSatisfy({ $0 == "\n" || displayWidth($0) >= 0 }) else { return nil }
        var start = TypedLineLayout(columns: window.columns)
        start.add(prompt: prompt, escape: LineEditor.promptEscape)
        var end = start
        end.add(text: before.unicodeScalars)
        var cursor = end.cursor(before: after)
        end.add(text: after.unicodeScalars)
        if isEntered { cursor = (end.row + 1, 0) }
        // Rows that have scrolled out of the window cannot be drawn. libedit keeps the last rows of the line in the
        // window, but loses track of the cursor if it is in an earlier row.
        let top = max(end.row, cursor.row) - (window.rows - 1)
        guard top <= 0 || cursor.row >= end.row else { return nil }

        var pen = Pen(row: cursor.row)
        var layout = start
        var rest = line[...]
        var isAfterCharacter = false
        for run in runs {
            pen.setColor(run.code)
            for scalar in rest.prefix(run.length) {
                let width = scalar == "\n" ? 0 : displayWidth(scalar)
                let position = layout.position(of: width)
                if width > 0 {
                    isAfterCharacter = position.row >= top
                    if isAfterCharacter { pen.draw(scalar, at: position, width: width) }
                } else if scalar == "\n" {
                    isAfterCharacter = false
                } else if isAfterCharacter {
                    pen.combine(scalar)
                }
                layout.add(text: CollectionOfOne(scalar))
            }
            rest = rest.dropFirst(run.length)
        }
        pen.setColor(nil)
        pen.move(to: cursor)
        return pen.text
    }

    /// Writes characters at positions counted from the first row of the prompt.
    private struct Pen {
        private(set) var text = ""
        private var row: Int
        /// The column of the cursor; nil if it is uncertain: at the start, and after the last column.
        private var column: Int?
        private var color: String?

        init(row: Int) { self.row = row }

        mutating func setColor(_ code: String?) {
            if code == color { return }
            text += code.map { "\u{1B}[0;\($0)m" } ?? "\u{1B}[0m"
            color = code
        }

        mutating func draw(
            _ scalar: Unicode.Scalar, at position: (row: Int, column: Int), width: Int
        ) {
            move(to: position)
            text.unicodeScalars.append(scalar)
            column = position.column + width
        }

        /// Adds a combining character to the last character.
        ///
        /// Terminals differ in the width of a combined character, so the next character sets its position explicitly.
        mutating func combine(_ scalar: Unicode.Scalar) {
            text.unicodeScalars.append(scalar)
            column = nil
        }

        mutating func move(to position: (row: Int, column: Int)) {
            if row == position.row, column == position.column { return }
            text += "\r"
            if position.row > row { text += "\u{1B}[\(position.row - row)B" }
            if position.row < row { text += "\u{1B}[\(row - position.row)A" }
            if position.column > 0 { text += "\u{1B}[\(position.column)C" }
            (row, column) = (position.row, position.column)
        }
    }
}
