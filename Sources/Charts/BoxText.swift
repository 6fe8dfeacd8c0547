/// Draws a box layout as lines of text.
struct BoxText {
    private struct Cell {
        /// The character; empty after a character that takes two columns.
        var text = " "
        var ink: ChartStyle.Ink?
        /// The sides that links use, for the character of a cell that several links share.
        var sides: UInt8 = 0
    }

    private let layout: BoxLayout
    private let style: ChartStyle

    /// The line characters by the sides that they connect: north 1, east 2, south 4, west 8.
    private static let lines = [
        " ", "│", "─", "╰", "│", "│", "╭", "├", "─", "╯", "─", "┴", "╮", "┤", "┬", "┼",
    ]
    private static let arrows = ["▲", "▶", "▼", "◀"]

    init(_ layout: BoxLayout, _ style: ChartStyle) {
        self.layout = layout
        self.style = style
    }

    var lines: [String] {
        var cells = Array(
            repeating: Array(repeating: Cell(), count: layout.columns), count: layout.rows)
        for placed in layout.boxes { draw(placed, &cells) }
        for link in layout.links { draw(link, &cells) }
        var lines = cells.map(text)
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private func draw(_ placed: BoxLayout.Placed, _ cells: inout [[Cell]]) {
        let inner = placed.width - 2
        let remark = placed.box.remark.isEmpty ? "" : " \(placed.box.remark)"
        let title = style.truncated(placed.box.title, to: max(1, inner - 2 - style.width(remark)))
        let rule = max(0, inner - style.width(title) - style.width(remark) - 3)
        put("╭─ ", x: placed.x, y: placed.y, .axis, into: &cells)
        var x = placed.x + 3
        put(title, x: x, y: placed.y, .title, into: &cells)
        x += style.width(title)
        put(remark, x: x, y: placed.y, .axis, into: &cells)
        x += style.width(remark)
        put(" " + String(repeating: "─", count: rule), x: x, y: placed.y, .axis, into: &cells)
        put("╮", x: placed.x + placed.width - 1, y: placed.y, .axis, into: &cells)
        for (index, row) in placed.box.rows.enumerated() {
            let y = placed.y + 1 + index
            put("│", x: placed.x, y: y, .axis, into: &cells)
            let name = style.truncated(
                row.name, to: row.detail.isEmpty ? inner - 2 : placed.nameWidth)
            put(name, x: placed.x + 2, y: y, row.detail.isEmpty ? .axis : .name, into: &cells)
            let detail = style.truncated(row.detail, to: max(0, inner - placed.nameWidth - 4))
            put(detail, x: placed.x + 4 + placed.nameWidth, y: y, .detail, into: &cells)
            put("│", x: placed.x + placed.width - 1, y: y, .axis, into: &cells)
        }
        let bottom = "╰" + String(repeating: "─", count: max(0, inner)) + "╯"
        put(bottom, x: placed.x, y: placed.y + placed.height - 1, .axis, into: &cells)
    }

    private func draw(_ link: BoxLayout.Link, _ cells: inout [[Cell]]) {
        guard let first = link.path.first, let last = link.path.last else { return }
        let box = layout.boxes[link.from]
        let isRight = first.x == box.x + box.width
        let ink = ChartStyle.Ink.series(link.target)
        cells[first.y][isRight ? first.x - 1 : first.x + 1].text = isRight ? "├" : "┤"
        var arrival: LinkRouter.Direction = isRight ? .east : .west
        for step in link.path {
            let sides = UInt8(1 << arrival.opposite.rawValue) | UInt8(1 << step.direction.rawValue)
            cells[step.y][step.x].sides |= sides
            // The arrow of another link to the same box is kept.
            if !Self.arrows.contains(cells[step.y][step.x].text) {
                cells[step.y][step.x].text = Self.lines[Int(cells[step.y][step.x].sides)]
            }
            cells[step.y][step.x].ink = ink
            arrival = step.direction
        }
        cells[last.y][last.x].text = Self.arrows[last.direction.rawValue]
    }

    private func put(
        _ text: String, x: Int, y: Int, _ ink: ChartStyle.Ink, into cells: inout [[Cell]]
    ) {
        var x = x
        for character in text {
            let width = style.width(String(character))
            guard cells.indices.contains(y), x >= 0, x + width <= cells[y].count else { return }
            cells[y][x].text = String(character)
            cells[y][x].ink = ink
            for column in (x + 1)..<max(x + 1, x + width) { cells[y][column].text = "" }
            x += width
        }
    }

    private func text(_ cells: [Cell]) -> String {
        let used = (cells.lastIndex { $0.text != " " } ?? -1) + 1
        var result = ""
        var run = ""
        var ink: ChartStyle.Ink?
        func flush() {
            result += ink.map { style.paint(run, $0) } ?? run
            run = ""
        }
        for cell in cells[..<used] {
            if cell.ink != ink, !cell.text.isEmpty {
                flush()
                ink = cell.ink
            }
            run += cell.text
        }
        flush()
        return result
    }
}
