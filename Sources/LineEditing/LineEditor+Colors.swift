// Colors while typing. libedit draws plain text only. Whenever it waits for a key, the line is on the screen as
// `TypedLineLayout` says. So the same characters can be written again in the same positions, in color, and the cursor
// put back. libedit's picture of the screen stays true: characters and cursor are what it has drawn.

/// A piece of a line in one color.
package struct ColoredRun: Equatable, Sendable {
    /// How many Unicode scalars it has.
    package var length: Int
    /// The numbers of an SGR sequence such as `32`; nil for the terminal's own color.
    package var code: String?

    /// A piece of so many scalars.
    package init(_ length: Int, _ code: String?) {
        self.length = length
        self.code = code
    }
}

extension LineEditor {
    /// Draws the typed line again in its colors, and puts the cursor where it belongs.
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

    /// Draws a line that was entered before it could be painted, from the row below it.
    ///
    /// Where keys come faster than they are drawn, libedit can leave a blank in the place of a wide character.
    func paintEnteredLine(_ line: String) {
        if line.isEmpty { return }
        let painting = LinePainting(prompt: prompt, before: line, after: "", window: windowSize)
        if let text = painting.text(painter?(line) ?? [], isEntered: true) { write(text) }
    }
}

/// The text that colors a line that is on the screen, with the cursor somewhere in it.
struct LinePainting {
    let prompt: String
    let before: String
    let after: String
    let window: (columns: Int, rows: Int)

    /// Nil where it is not certain what is where on the screen.
    ///
    /// Plain text is written too: it may have had a color. With `isEntered` the cursor is in the row below the line,
    /// and stays there.
    func text(_ runs: [ColoredRun], isEntered: Bool = false) -> String? {
        let line = Array((before + after).unicodeScalars)
        // Instead of what cannot be shown libedit draws its number.
        guard line.allSatisfy({ $0 == "\n" || displayWidth($0) >= 0 }) else { return nil }
        var start = TypedLineLayout(columns: window.columns)
        start.add(prompt: prompt, escape: LineEditor.promptEscape)
        var end = start
        end.add(text: before.unicodeScalars)
        var cursor = end.cursor(before: after)
        end.add(text: after.unicodeScalars)
        if isEntered { cursor = (end.row + 1, 0) }
        // What has scrolled out of the window cannot be reached. libedit keeps the line's last rows there, and loses count
        // of the cursor's row when that is not the last one.
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
                let place = layout.place(of: width)
                if width > 0 {
                    isAfterCharacter = place.row >= top
                    if isAfterCharacter { pen.draw(scalar, at: place, width: width) }
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

    /// Writes characters at places, which are counted from the prompt's first row.
    private struct Pen {
        private(set) var text = ""
        private var row: Int
        /// Nil where it is not to be relied on: at first, and behind the last column.
        private var column: Int?
        private var color: String?

        init(row: Int) { self.row = row }

        mutating func setColor(_ code: String?) {
            if code == color { return }
            text += code.map { "\u{1B}[0;\($0)m" } ?? "\u{1B}[0m"
            color = code
        }

        mutating func draw(_ scalar: Unicode.Scalar, at place: (row: Int, column: Int), width: Int)
        {
            move(to: place)
            text.unicodeScalars.append(scalar)
            column = place.column + width
        }

        /// Adds a mark to the character that was drawn last.
        ///
        /// Terminals differ in the width of a combined character: the next character sets its own position.
        mutating func combine(_ scalar: Unicode.Scalar) {
            text.unicodeScalars.append(scalar)
            column = nil
        }

        mutating func move(to place: (row: Int, column: Int)) {
            if row == place.row, column == place.column { return }
            text += "\r"
            if place.row > row { text += "\u{1B}[\(place.row - row)B" }
            if place.row < row { text += "\u{1B}[\(row - place.row)A" }
            if place.column > 0 { text += "\u{1B}[\(place.column)C" }
            (row, column) = (place.row, place.column)
        }
    }
}
