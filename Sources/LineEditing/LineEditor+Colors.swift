// Colours while typing. libedit knows none: it draws plain text. Whenever it waits for a key the line is on the screen
// as `TypedLineLayout` says, so the same characters can be written again in the same places, in colour, and the cursor
// put back where it was. libedit's picture of the screen stays true: characters and cursor are what it has drawn.

/// A piece of a line in one colour.
public struct ColoredRun: Equatable, Sendable {
    /// How many Unicode scalars it has.
    public var length: Int
    /// The numbers of an SGR sequence such as `32`; nil for the terminal's own colour.
    public var code: String?

    /// A piece of so many scalars.
    public init(_ length: Int, _ code: String?) {
        self.length = length
        self.code = code
    }
}

extension LineEditor {
    /// Draws the typed line again in its colours, and puts the cursor where it belongs.
    ///
    /// Without colours only the cursor is put there, which libedit leaves in the second half of a wide character when
    /// something is inserted before that.
    func paintLine() {
        let (before, after) = typed
        if before.isEmpty, after.isEmpty { return }
        let painting = LinePainting(
            prompt: prompt, before: before, after: after, window: windowSize)
        if let text = painting.text(painter?(before + after) ?? []) { write(text) }
    }
}

/// What has to be written to colour a line that is on the screen, with the cursor somewhere in it.
struct LinePainting {
    let prompt: String
    let before: String
    let after: String
    let window: (columns: Int, rows: Int)

    /// Nil where it is not certain what is where on the screen.
    ///
    /// What is plain is written too: it may have had a colour.
    func text(_ runs: [ColoredRun]) -> String? {
        let line = Array((before + after).unicodeScalars)
        // Of combining characters and of those that cannot be shown, terminals think differently.
        guard line.allSatisfy({ $0 == "\n" || displayWidth($0) > 0 }) else { return nil }
        var start = TypedLineLayout(columns: window.columns)
        start.add(prompt: prompt, escape: LineEditor.promptEscape)
        var end = start
        end.add(text: before.unicodeScalars)
        let cursor = end.cursor(before: after)
        end.add(text: after.unicodeScalars)
        // What has scrolled out of the window cannot be reached.
        guard end.row + 1 < window.rows else { return nil }

        var pen = Pen(row: cursor.row)
        var layout = start
        var rest = line[...]
        for run in runs {
            pen.setColor(run.code)
            for scalar in rest.prefix(run.length) {
                if scalar != "\n" {
                    let place = layout.place(of: displayWidth(scalar))
                    pen.draw(scalar, at: place, width: displayWidth(scalar))
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
