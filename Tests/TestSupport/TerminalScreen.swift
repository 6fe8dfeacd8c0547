#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The screen of an xterm-like terminal, with the features that tests of a prompt need.
///
/// It follows the rules that matter for line editing: after the last column, the cursor waits until the next character
/// wraps it; wide characters use two cells and wrap as a unit; erased cells are blank.
public struct TerminalScreen: Sendable {
    private var cells: [[Cell]]
    /// The numbers of the last color sequence; empty for the terminal's own color.
    private var color = ""
    private var isWrapping = false
    private var pending: [UInt8] = []
    /// The cursor's position, counted from 0.
    public private(set) var row = 0
    /// The cursor's position, counted from 0.
    public private(set) var column = 0
    /// The window's width.
    public private(set) var columns: Int
    /// The window's height.
    public private(set) var rows: Int
    /// The unknown sequences; a test should fail if there are any.
    public private(set) var unknown: [String] = []
    /// The number of lines that have scrolled out of the window at the top.
    public private(set) var scrolledLines = 0
    /// Whether the last bytes switched bracketed paste on.
    public private(set) var isBracketingPastes = false

    private struct Cell {
        var character: Character = " "
        var color = ""
        /// Whether the program has written the character.
        var isWritten = false
    }

    /// Marks the right half of a wide character.
    private static let filler: Character = "\u{0}"

    /// An empty screen.
    public init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
        cells = Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
    }

    /// The lines up to the last one that is not empty, without trailing spaces.
    public var lines: [String] {
        var lines = cells.map { row -> String in
            var text = String(row.map(\.character).filter { $0 != Self.filler })
            while text.last == " " { text.removeLast() }
            return text
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// Returns the lines from a row on, in which a line that is wider than the window is one line.
    public func unwrapped(from first: Int = 0) -> [String] {
        var lines: [String] = []
        var isContinued = false
        for row in cells.dropFirst(first) {
            let text = String(row.map(\.character).filter { $0 != Self.filler })
            if isContinued { lines[lines.count - 1] += text } else { lines.append(text) }
            isContinued = row.last?.isWritten == true
        }
        for index in lines.indices {
            while lines[index].last == " " { lines[index].removeLast() }
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// All lines, joined.
    public var text: String { lines.joined(separator: "\n") }

    /// The part of a row that is shown in a color, which is given as numbers such as `32`.
    public func colors(of row: Int, _ color: String) -> String {
        guard cells.indices.contains(row) else { return "" }
        return String(
            cells[row].filter { $0.color == color && $0.character != Self.filler }
                .map(\.character))
    }

    /// Resizes the window.
    ///
    /// Lines are truncated or padded, not wrapped again, and the cursor stays on its line.
    public mutating func resize(columns: Int, rows: Int) {
        for index in cells.indices {
            if cells[index].count > columns {
                cells[index].removeLast(cells[index].count - columns)
            }
            while cells[index].count < columns { cells[index].append(Cell()) }
        }
        while cells.count > rows {
            if row < cells.count - 1 { cells.removeLast() } else { cells.removeFirst(); row -= 1 }
        }
        while cells.count < rows { cells.append(Array(repeating: Cell(), count: columns)) }
        self.columns = columns
        self.rows = rows
        row = min(row, rows - 1)
        column = min(column, columns - 1)
        isWrapping = false
    }

    /// Processes the output of a program, which can end inside a character or sequence.
    public mutating func receive(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        var index = 0
        while index < pending.count, let used = step(at: index) { index += used }
        pending.removeFirst(index)
    }

    /// Returns one character or sequence; nil if it is incomplete.
    private mutating func step(at index: Int) -> Int? {
        let byte = pending[index]
        switch byte {
        case 0x1B: return escape(at: index)
        case 0x0D: column = 0; isWrapping = false; return 1
        case 0x0A: lineFeed(); return 1
        case 0x08: column = max(0, column - 1); isWrapping = false; return 1
        case 0x07: return 1
        case 0x09: column = min(columns - 1, (column / 8 + 1) * 8); return 1
        case 0..<0x20: unknown.append("control \(byte)"); return 1
        case 0x20..<0x80: put(Unicode.Scalar(byte)); return 1
        default:
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            guard index + length <= pending.count else { return nil }
            let text = String(decoding: pending[index..<index + length], as: UTF8.self)
            for scalar in text.unicodeScalars { put(scalar) }
            return length
        }
    }

    private mutating func escape(at index: Int) -> Int? {
        guard index + 1 < pending.count else { return nil }
        guard pending[index + 1] == UInt8(ascii: "[") else {
            // Keypad modes and character sets have no effect.
            if "=>".utf8.contains(pending[index + 1]) { return 2 }
            if pending[index + 1] == UInt8(ascii: "(") { return 3 }
            unknown.append("escape \(pending[index + 1])")
            return 2
        }
        guard let end = pending[(index + 2)...].firstIndex(where: { $0 >= 0x40 && $0 <= 0x7E })
        else { return nil }
        let parameters = String(decoding: pending[(index + 2)..<end], as: UTF8.self)
        control(Character(Unicode.Scalar(pending[end])), parameters)
        return end - index + 1
    }

    private mutating func control(_ final: Character, _ parameters: String) {
        let numbers = parameters.split(separator: ";").map { Int($0) ?? 0 }
        let count = max(1, numbers.first ?? 1)
        // Colors do not affect the wrapping of the next character.
        if final != "m" { isWrapping = false }
        switch final {
        case "A": row = max(0, row - count)
        case "B": row = min(rows - 1, row + count)
        case "C": column = min(columns - 1, column + count)
        case "D": column = max(0, column - count)
        case "G": column = min(columns - 1, count - 1)
        case "H":
            row = min(rows - 1, count - 1)
            column = min(columns - 1, max(1, numbers.count > 1 ? numbers[1] : 1) - 1)
        case "J":
            if numbers.first == 2 {
                for index in cells.indices { erase(index, 0..<columns) }
            } else {
                erase(row, column..<columns)
                for index in (row + 1)..<max(row + 1, rows) { erase(index, 0..<columns) }
            }
        case "K":
            switch numbers.first ?? 0 {
            case 1: erase(row, 0..<(column + 1))
            case 2: erase(row, 0..<columns)
            default: erase(row, column..<columns)
            }
        case "P":
            cells[row].removeSubrange(column..<min(columns, column + count))
            while cells[row].count < columns { cells[row].append(Cell()) }
        case "@":
            for _ in 0..<count { cells[row].insert(Cell(), at: column) }
            cells[row].removeLast(cells[row].count - columns)
        case "X": erase(row, column..<min(columns, column + count))
        case "m":
            let last = parameters.split(separator: ";").last.map(String.init) ?? ""
            color = last == "0" ? "" : last
        case "h", "l":
            if parameters == "?2004" { isBracketingPastes = final == "h" }
        default: unknown.append("CSI \(parameters)\(final)")
        }
    }

    private mutating func erase(_ row: Int, _ range: Range<Int>) {
        for column in range { cells[row][column] = Cell() }
    }

    private mutating func lineFeed() {
        isWrapping = false
        if row < rows - 1 {
            row += 1
        } else {
            scrolledLines += 1
            cells.removeFirst()
            cells.append(Array(repeating: Cell(), count: columns))
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let width = Self.width(scalar)
        if width == 0 {
            var target = isWrapping ? column : max(0, column - 1)
            if cells[row][target].character == Self.filler { target -= 1 }
            var text = String(cells[row][target].character)
            text.unicodeScalars.append(scalar)
            if text.count == 1 { cells[row][target].character = Character(text) }
            return
        }
        if isWrapping || column + width > columns {
            lineFeed()
            column = 0
        }
        cells[row][column] = Cell(character: Character(scalar), color: color, isWritten: true)
        if width == 2 {
            cells[row][column + 1] = Cell(character: Self.filler, color: color, isWritten: true)
        }
        column += width
        isWrapping = column >= columns
        if isWrapping { column = columns - 1 }
    }

    /// The East Asian wide ranges and the combining marks that tests use.
    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x300...0x36F, 0x200B...0x200F, 0xFE00...0xFE0F: 0
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0x1F300...0x1F64F, 0x1F900...0x1F9FF:
            2
        default: 1
        }
    }
}
