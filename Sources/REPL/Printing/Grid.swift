import LineEditing

/// Rows and columns that fit a window: names, types, values, and the number of omitted rows.
///
/// If the columns with whole names do not fit, each row is a list of its properties instead.
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
        var lines: [String] = []
        if let widths = fit(width) {
            if !columns.isEmpty { lines = heading(widths, style) }
            for (index, row) in rows.enumerated() {
                lines.append(line(row, widths) { paint(index, $0, $1) })
            }
        } else {
            lines = rows.indices.flatMap { list($0, width, style) }
        }
        var remarks = [ValueText.count(count, thing.one, thing.many)]
        if isShortened {
            remarks.append("… \(ValueText.count(count - rows.count)) more\(remedy)")
        }
        lines.append(
            style.paint(TerminalText.truncate(remarks.joined(separator: " · "), to: width), .dim))
        return lines
    }

    private func heading(_ widths: [Int], _ style: Style) -> [String] {
        var lines = [line(columns.map(\.name), widths) { style.paint($1, .strong) }]
        if columns.contains(where: { !$0.type.isEmpty }) {
            lines.append(line(columns.map(\.type), widths) { style.paint($1, .dim) })
        }
        let rules = widths.map { String(repeating: "─", count: $0) }
        lines.append(
            style.paint(rules.joined(separator: String(repeating: " ", count: Self.gap)), .dim))
        return lines
    }

    private func line(
        _ cells: [String], _ widths: [Int], paint: (Int, String) -> String
    ) -> String {
        assert(cells.count == columns.count, "a row has a cell for each column")
        var text = ""
        for (index, cell) in cells.enumerated() {
            let cut = TerminalText.truncate(cell, to: widths[index])
            let padding = String(
                repeating: " ", count: max(0, widths[index] - TerminalText.width(cut)))
            let isLast = index == cells.count - 1
            if columns[index].isNumeric {
                text += padding + paint(index, cut)
            } else {
                text += paint(index, cut) + (isLast ? "" : padding)
            }
            if !isLast { text += String(repeating: " ", count: Self.gap) }
        }
        return text
    }

    /// Returns a row as a list of its properties.
    private func list(_ row: Int, _ width: Int, _ style: Style) -> [String] {
        let names = columns.map { TerminalText.truncate($0.name, to: width / 2) }
        let nameWidth = names.map(TerminalText.width).max() ?? 0
        let title = "── \(thing.one) \(ValueText.count(row + 1)) ──"
        return [style.paint(TerminalText.truncate(title, to: width), .dim)]
            + columns.indices.map { index in
                let padding = nameWidth - TerminalText.width(names[index]) + Self.gap
                let cell = TerminalText.truncate(
                    rows[row][index], to: width - nameWidth - Self.gap)
                return style.paint(names[index], .strong) + String(repeating: " ", count: padding)
                    + paint(row, index, cell)
            }
    }

    /// Returns the widths of the columns: the widest ones shrink if necessary, but not below their names.
    ///
    /// Returns nil if several columns do not fit.
    private func fit(_ width: Int) -> [Int]? {
        let natural = columns.indices.map { index in
            rows.reduce(
                max(
                    TerminalText.width(columns[index].name), TerminalText.width(columns[index].type)
                )
            ) { max($0, TerminalText.width($1[index])) }
        }
        let minimum = columns.indices.map { index in
            // A truncated number would be misread, so columns of numbers do not shrink.
            columns[index].isNumeric
                ? natural[index]
                : min(natural[index], max(Self.narrowest, TerminalText.width(columns[index].name)))
        }
        func total(_ widths: [Int]) -> Int {
            widths.reduce(0, +) + Self.gap * max(0, widths.count - 1)
        }
        if columns.count > 1, total(minimum) > width { return nil }
        var widths = natural
        while total(widths) > width {
            guard
                let widest = widths.indices.filter({ widths[$0] > minimum[$0] })
                    .max(by: { widths[$0] < widths[$1] })
            else { break }
            // The widest column shrinks to the width of the next one in one step.
            let next = widths.indices.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let excess = total(widths) - width
            let step = max(1, min(excess, widths[widest] - max(next, minimum[widest])))
            widths[widest] -= step
        }
        return widths.map { min($0, width) }
    }
}

/// Text with its width, excluding color sequences.
struct Piece {
    var text: String
    var width: Int

    init(_ text: String, _ role: Style.Role = .plain, _ style: Style = .plain) {
        self.text = style.paint(text, role)
        width = TerminalText.width(text)
    }
}

/// The layout of a value: on one line if it fits, otherwise one item per line.
indirect enum Layout {
    case piece(Piece)
    /// Items in brackets, such as `{ a, b }`: the text before each item (its key), the items, and a remark after the
    /// last.
    case group(open: Piece, items: [(key: Piece?, value: Layout)], rest: Piece?, close: Piece)
    /// Text of several lines, which no other text can share a line with.
    case block([String])

    /// Returns the text within a width, starting at a column.
    func render(width: Int, column: Int = 0, indent: Int = 0) -> String {
        switch self {
        case .piece(let piece): return piece.text
        case .block(let lines): return lines.joined(separator: "\n")
        case .group(let open, let items, let rest, let close):
            if items.isEmpty, rest == nil { return open.text + close.text }
            if let flat = flatWidth(limit: width - column), column + flat <= width {
                return renderFlat()
            }
            let inner = indent + 2
            let margin = String(repeating: " ", count: inner)
            var lines = [open.text]
            for (index, item) in items.enumerated() {
                let key = item.key.map { $0.text + " = " } ?? ""
                let start = inner + (item.key.map { $0.width + 3 } ?? 0)
                let value = item.value.render(width: width - 1, column: start, indent: inner)
                let comma = index < items.count - 1 || rest != nil ? "," : ""
                lines.append(margin + key + value + comma)
            }
            if let rest { lines.append(margin + rest.text) }
            lines.append(String(repeating: " ", count: indent) + close.text)
            return lines.joined(separator: "\n")
        }
    }

    /// Returns the width on one line; nil if it exceeds the limit, or if the layout needs several lines.
    private func flatWidth(limit: Int) -> Int? {
        switch self {
        case .piece(let piece): return piece.text.contains("\n") ? nil : piece.width
        case .block: return nil
        case .group(let open, let items, let rest, let close):
            var sum = open.width + close.width + 2
            for item in items {
                guard sum <= limit, let value = item.value.flatWidth(limit: limit - sum) else {
                    return nil
                }
                sum += value + 2 + (item.key.map { $0.width + 3 } ?? 0)
            }
            if let rest { sum += rest.width + 2 }
            return sum - 2
        }
    }

    private func renderFlat() -> String {
        switch self {
        case .piece(let piece): return piece.text
        case .block(let lines): return lines.joined(separator: " ")
        case .group(let open, let items, let rest, let close):
            var parts = items.map { item in
                (item.key.map { $0.text + " = " } ?? "") + item.value.renderFlat()
            }
            if let rest { parts.append(rest.text) }
            return "\(open.text) \(parts.joined(separator: ", ")) \(close.text)"
        }
    }
}
