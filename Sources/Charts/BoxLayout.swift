/// The positions of the boxes and links of a diagram, in cells of text.
struct BoxLayout {
    /// A box with its position and size, borders included.
    struct Placed {
        var box: BoxDiagram.Box
        var x: Int
        var y: Int
        var width: Int
        /// The width of the column with the names of the rows.
        var nameWidth: Int
        var height: Int { box.rows.count + 2 }
    }

    /// A link as a path of cells between a row and a box.
    struct Link {
        var from: Int
        var row: Int
        var target: Int
        /// The cells from the border of the first box to the border of the other.
        var path: [LinkRouter.Step]
    }

    private(set) var boxes: [Placed] = []
    private(set) var links: [Link] = []
    private(set) var columns = 0
    private(set) var rows = 0
    let width: (String) -> Int

    private static let gap = 5
    private static let margin = 3
    private static let verticalGap = 2
    private static let widestBox = 46
    /// The maximum number of rows in a box.
    private static let mostRows = 14

    init(_ diagram: BoxDiagram, columns: Int, width: @escaping (String) -> Int) {
        self.width = width
        let order = Self.order(diagram)
        let available = max(16, columns - 2 * Self.margin)
        var placed = order.map { index in
            sized(Self.shortened(diagram.boxes[index]), limit: min(Self.widestBox, available))
        }
        place(&placed, available)
        // The boxes return to the order of the diagram, because links refer to boxes by index.
        boxes = diagram.boxes.indices.map { index in placed[order.firstIndex(of: index) ?? 0] }
        self.columns = min(
            columns, (boxes.map { $0.x + $0.width }.max() ?? 0) + Self.margin)
        rows = (boxes.map { $0.y + $0.height }.max() ?? 0) + 1
        route()
    }

    /// Returns the indexes of the boxes, ordered so that linked boxes follow each other; the box with the most links is
    /// first.
    private static func order(_ diagram: BoxDiagram) -> [Int] {
        var neighbors = Array(repeating: [Int](), count: diagram.boxes.count)
        for (index, box) in diagram.boxes.enumerated() {
            for row in box.rows {
                guard let link = row.link, link != index, neighbors.indices.contains(link) else {
                    continue
                }
                neighbors[index].append(link)
                neighbors[link].append(index)
            }
        }
        var order: [Int] = []
        var seen: Set<Int> = []
        let starts = diagram.boxes.indices.sorted {
            neighbors[$0].count != neighbors[$1].count
                ? neighbors[$0].count > neighbors[$1].count : $0 < $1
        }
        for start in starts where seen.insert(start).inserted {
            var next = order.count
            order.append(start)
            while next < order.count {
                for neighbor in neighbors[order[next]] where seen.insert(neighbor).inserted {
                    order.append(neighbor)
                }
                next += 1
            }
        }
        return order
    }

    /// Returns a long box with fewer rows; rows with links are removed last.
    private static func shortened(_ box: BoxDiagram.Box) -> BoxDiagram.Box {
        guard box.rows.count > mostRows else { return box }
        var space = max(2, mostRows - 1 - box.rows.count { $0.link != nil })
        var kept: [BoxDiagram.Row] = []
        for row in box.rows where kept.count < mostRows - 1 {
            if row.link == nil {
                guard space > 0 else { continue }
                space -= 1
            }
            kept.append(row)
        }
        var box = box
        let hidden = box.rows.count - kept.count
        box.rows = kept + [BoxDiagram.Row("… \(hidden) more", "")]
        return box
    }

    private func sized(_ box: BoxDiagram.Box, limit: Int) -> Placed {
        let names = box.rows.map { width($0.name) }.max() ?? 0
        let nameWidth = min(names, max(6, limit - 14))
        let inner = box.rows.map { nameWidth + 2 + width($0.detail) }.max() ?? 0
        let title = width(box.title) + width(box.remark) + 4
        return Placed(
            box: box, x: 0, y: 0, width: min(limit, max(inner + 4, title + 3)),
            nameWidth: nameWidth)
    }

    /// Places the boxes in as many columns as fit, each below the shortest column.
    private func place(_ boxes: inout [Placed], _ available: Int) {
        var most = 1
        while most * most < boxes.count * 2 { most += 1 }
        for count in stride(from: max(1, min(most, boxes.count)), through: 1, by: -1) {
            var heights = Array(repeating: 0, count: count)
            var widths = Array(repeating: 0, count: count)
            var column: [Int] = []
            for index in boxes.indices {
                let shortest = heights.indices.min { heights[$0] < heights[$1] } ?? 0
                boxes[index].y = heights[shortest]
                heights[shortest] += boxes[index].height + Self.verticalGap
                widths[shortest] = max(widths[shortest], boxes[index].width)
                column.append(shortest)
            }
            guard count == 1 || widths.reduce(0, +) + Self.gap * (count - 1) <= available else {
                continue
            }
            for index in boxes.indices {
                boxes[index].x =
                    Self.margin + widths[..<column[index]].reduce(0) { $0 + $1 + Self.gap }
            }
            return
        }
    }

    private mutating func route() {
        var router = LinkRouter(columns: columns, rows: rows, boxes: boxes)
        var wanted: [(from: Int, row: Int, target: Int, distance: Int)] = []
        for (index, placed) in boxes.enumerated() {
            for (row, content) in placed.box.rows.enumerated() {
                guard let target = content.link, boxes.indices.contains(target) else { continue }
                let other = boxes[target]
                wanted.append(
                    (index, row, target, abs(placed.x - other.x) + abs(placed.y - other.y)))
            }
        }
        // Short links come first, because they have the fewest possible paths.
        for link in wanted.sorted(by: { $0.distance < $1.distance }) {
            if let path = router.route(from: link.from, row: link.row, to: link.target) {
                links.append(
                    Link(from: link.from, row: link.row, target: link.target, path: path))
            }
        }
    }
}
