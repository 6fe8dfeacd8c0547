import LineEditing

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
