/// A grid of dots that is drawn with Braille characters: each cell of text has two columns and four rows of dots.
struct BrailleGrid {
    let columns: Int
    let rows: Int
    private var cells: [(dots: UInt8, series: Int)]

    private static let bits: [[UInt8]] = [
        [0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80],
    ]

    /// Creates an empty grid for a size in cells of text.
    init(columns: Int, rows: Int) {
        self.columns = max(1, columns)
        self.rows = max(1, rows)
        cells = Array(repeating: (0, 0), count: self.columns * self.rows)
    }

    /// The width and the height in dots.
    var width: Int { columns * 2 }
    var height: Int { rows * 4 }

    /// Sets a dot, counted from the top left; the cell takes the color of the series.
    mutating func set(_ x: Int, _ y: Int, series: Int) {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return }
        let index = y / 4 * columns + x / 2
        cells[index] = (cells[index].dots | Self.bits[x % 2][y % 4], series)
    }

    /// Draws a line of dots between two points.
    mutating func line(
        from start: (x: Int, y: Int), to end: (x: Int, y: Int), series: Int
    ) {
        let steps = max(abs(end.x - start.x), abs(end.y - start.y))
        for step in 0...max(1, steps) {
            let part = Double(step) / Double(max(1, steps))
            set(
                start.x + Int((Double(end.x - start.x) * part).rounded()),
                start.y + Int((Double(end.y - start.y) * part).rounded()), series: series)
        }
    }

    /// Returns the character and the series of a cell; nil if the cell is empty.
    func cell(_ column: Int, _ row: Int) -> (character: Character, series: Int)? {
        let cell = cells[row * columns + column]
        guard cell.dots != 0 else { return nil }
        return (Character(Unicode.Scalar(0x2800 + UInt32(cell.dots)) ?? " "), cell.series)
    }
}
