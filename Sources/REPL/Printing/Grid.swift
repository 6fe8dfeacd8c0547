import LineEditing

/// Rows and columns that fit a window: names, types, values, and the number of omitted rows.
struct Grid {
    struct Column: Equatable {
        var name: String
        var type: String
        var isNumeric: Bool
    }

    /// The title in one line: `Results of Dog (1,000)`.
    var title: String
    var columns: [Column]
    /// The visible rows; each has a cell for each column.
    var rows: [[String]]
    /// The total number of rows.
    var count: Int
    /// The noun for one row and for several, for the last line.
    var thing: (one: String, many: String)

    /// Colors a cell, given its row and column, after it was truncated to the width of its column.
    var paint: (_ row: Int, _ column: Int, _ text: String) -> String = { $2 }

    /// Whether some rows are omitted.
    var isShortened: Bool { count > rows.count }

    private static let gap = 2
    private static let narrowest = 6

    /// Returns the lines, none wider than the window.
    ///
    /// `remedy` follows the number of omitted rows.
    func render(width: Int, style: Style, remedy: String = "") -> [String] {
        let (shown, widths) = fit(width)
        var lines: [String] = []
        if !shown.isEmpty {
            lines.append(
                line(shown.map { columns[$0].name }, shown, widths) { style.paint($1, .strong) })
            if shown.contains(where: { !columns[$0].type.isEmpty }) {
                lines.append(
                    line(shown.map { columns[$0].type }, shown, widths) { style.paint($1, .dim) })
            }
            lines.append(
                style.paint(
                    widths.map { String(repeating: "─", count: $0) }.joined(
                        separator: String(repeating: " ", count: Self.gap)), .dim))
        }
        for (index, row) in rows.enumerated() {
            lines.append(
                line(shown.map { row[$0] }, shown, widths) { paint(index, $0, $1) })
        }
        var remarks = [ValueText.count(count, thing.one, thing.many)]
        if isShortened {
            remarks.append("… \(ValueText.count(count - rows.count)) more\(remedy)")
        }
        let hidden = columns.indices.filter { !shown.contains($0) }.map { columns[$0].name }
        if !hidden.isEmpty {
            remarks.append(
                "… \(ValueText.count(hidden.count, "column")) more: "
                    + hidden.joined(separator: ", "))
        }
        lines.append(
            style.paint(TerminalText.truncate(remarks.joined(separator: " · "), to: width), .dim))
        return lines
    }

    private func line(
        _ cells: [String], _ shown: [Int], _ widths: [Int],
        paint: (Int, String) -> String
    ) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            let cut = TerminalText.truncate(cell, to: widths[index])
            let padding = String(
                repeating: " ", count: max(0, widths[index] - TerminalText.width(cut)))
            let isLast = index == cells.count - 1
            if columns[shown[index]].isNumeric {
                text += padding + paint(shown[index], cut)
            } else {
                text += paint(shown[index], cut) + (isLast ? "" : padding)
            }
            if !isLast { text += String(repeating: " ", count: Self.gap) }
        }
        return text
    }

    /// Returns the visible columns and their widths: the widest columns shrink, and the last ones are omitted if
    /// necessary.
    private func fit(_ width: Int) -> (shown: [Int], widths: [Int]) {
        let natural = columns.indices.map { index in
            rows.reduce(
                max(
                    TerminalText.width(columns[index].name), TerminalText.width(columns[index].type)
                )
            ) { max($0, TerminalText.width($1[index])) }
        }
        var shown = Array(columns.indices)
        func least(_ index: Int) -> Int {
            // A truncated number would be misread, so columns of numbers do not shrink.
            columns[index].isNumeric ? natural[index] : min(natural[index], Self.narrowest)
        }
        func total(_ widths: [Int]) -> Int {
            widths.reduce(0, +) + Self.gap * max(0, widths.count - 1)
        }
        while shown.count > 1, total(shown.map(least)) > width { shown.removeLast() }
        var widths = shown.map { natural[$0] }
        while total(widths) > width {
            guard
                let widest = widths.indices.filter({ widths[$0] > least(shown[$0]) })
                    .max(by: { widths[$0] < widths[$1] })
            else { break }
            // The widest column shrinks to the width of the next one in one step.
            let next = widths.indices.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let excess = total(widths) - width
            let step = max(1, min(excess, widths[widest] - max(next, least(shown[widest]))))
            widths[widest] -= step
        }
        return (shown, widths.map { min($0, width) })
    }
}
