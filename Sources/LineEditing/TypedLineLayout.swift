/// Computes the cursor position while a line is typed, counted from the first row of the prompt.
///
/// libedit does not report the position, so this type follows its rules: a wide character that does not fit moves to
/// the next row, a full row moves the cursor to the next one immediately, control characters take two columns, and tabs
/// end at multiples of 8.
struct TypedLineLayout {
    private(set) var row = 0
    private(set) var column = 0
    private let columns: Int

    init(columns: Int) { self.columns = max(columns, 2) }

    /// Adds the prompt.
    ///
    /// Text between two `escape` characters takes no space.
    mutating func add(prompt: String, escape: Unicode.Scalar) {
        var isHidden = false
        for scalar in prompt.unicodeScalars {
            if scalar == escape {
                isHidden.toggle()
            } else if !isHidden {
                add(scalar)
            }
        }
    }

    /// Returns the cursor position before the next text, which is on its first character.
    func cursor(before text: String) -> (row: Int, column: Int) {
        guard let next = text.unicodeScalars.first, next.value >= 0x20 else { return (row, column) }
        return position(of: max(displayWidth(next), 0))
    }

    /// Returns the position of the next character if it has this width.
    func position(of width: Int) -> (row: Int, column: Int) {
        column + width > columns ? (row + 1, 0) : (row, column)
    }

    /// Adds typed text.
    mutating func add(text: some Sequence<Unicode.Scalar>) {
        for scalar in text { add(scalar) }
    }

    private mutating func add(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\n":
            row += 1
            column = 0
        case "\t":
            repeat { advance(1) } while column % 8 != 0
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            advance(1)
            advance(1)
        default:
            let width = displayWidth(scalar)
            // A character without a display form is drawn as \U+1234.
            if width < 0 {
                for _ in 0..<(scalar.value > 0xFFFF ? 8 : 7) { advance(1) }
            } else {
                advance(width)
            }
        }
    }

    private mutating func advance(_ width: Int) {
        if column + width > columns {
            row += 1
            column = 0
        }
        column += width
        if column >= columns {
            row += 1
            column = 0
        }
    }
}
