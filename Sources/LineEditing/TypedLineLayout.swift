/// Where the cursor stands on the screen while a line is typed, counted from the prompt's first row.
///
/// libedit knows but does not tell; this follows its rules: a wide character that does not fit goes to the next row, a
/// full row moves the cursor to the next one at once, control characters take two columns, tabs go to multiples of 8.
struct TypedLineLayout {
    private(set) var row = 0
    private(set) var column = 0
    private let columns: Int

    init(columns: Int) { self.columns = max(columns, 2) }

    /// Adds the prompt; what stands between two `escape` characters takes no room.
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

    /// Where the cursor stands when a text comes next: on its first character.
    func cursor(before text: String) -> (row: Int, column: Int) {
        guard let next = text.unicodeScalars.first, next.value >= 0x20 else { return (row, column) }
        return place(of: max(displayWidth(next), 0))
    }

    /// Where a character of that width is drawn if it comes next.
    func place(of width: Int) -> (row: Int, column: Int) {
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
            // What cannot be shown is drawn as \U+1234.
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
