/// Finds paths for links around boxes, with few bends and crossings.
///
/// Links share a path only if they have the same target. The search finds shortest paths over cells and directions, and
/// its work is limited for all links together.
struct LinkRouter {
    /// A direction on the grid.
    enum Direction: Int, CaseIterable {
        case north, east, south, west
        var dx: Int { self == .east ? 1 : self == .west ? -1 : 0 }
        var dy: Int { self == .south ? 1 : self == .north ? -1 : 0 }
        var opposite: Direction { Direction(rawValue: (rawValue + 2) % 4) ?? .north }
        var isHorizontal: Bool { self == .east || self == .west }
    }

    /// A cell of a path and the direction in which the path leaves it.
    struct Step {
        var x: Int
        var y: Int
        var direction: Direction
    }

    private let columns: Int
    private let rows: Int
    private let boxes: [BoxLayout.Placed]
    /// The index of the box in each cell, or -1.
    private var boxAt: [Int]
    /// The sides of each cell that links use: a bit for each direction.
    private var sides: [UInt8]
    /// The target of the links in each cell: -1 for none, -2 for a crossing.
    private var targetAt: [Int]
    private var budget = 3_000_000

    private static let bend = 4
    private static let crossing = 6

    init(columns: Int, rows: Int, boxes: [BoxLayout.Placed]) {
        self.columns = columns
        self.rows = rows
        self.boxes = boxes
        boxAt = Array(repeating: -1, count: max(0, columns * rows))
        sides = Array(repeating: 0, count: boxAt.count)
        targetAt = Array(repeating: -1, count: boxAt.count)
        for (index, box) in boxes.enumerated() {
            for y in box.y..<min(rows, box.y + box.height) {
                for x in box.x..<min(columns, box.x + box.width) { boxAt[y * columns + x] = index }
            }
        }
    }

    private func bit(_ direction: Direction) -> UInt8 { 1 << UInt8(direction.rawValue) }

    /// Returns the cells of a path between a row of a box and another box, and reserves them; nil if there is no path.
    mutating func route(from: Int, row: Int, to target: Int) -> [Step]? {
        let box = boxes[from]
        let y = box.y + 1 + row
        var starts: [Step] = []
        for (x, direction) in [(box.x + box.width, Direction.east), (box.x - 1, .west)]
        where (0..<columns).contains(x) && isFree(x: x, y: y, for: target, direction) {
            starts.append(Step(x: x, y: y, direction: direction))
        }
        guard let path = shortest(starts, target) else { return nil }
        reserve(path, target, starts)
        return path
    }

    /// Returns whether a path to a target can enter a cell in a direction.
    private func isFree(x: Int, y: Int, for target: Int, _ direction: Direction) -> Bool {
        let cell = y * columns + x
        guard boxAt[cell] < 0 else { return false }
        if targetAt[cell] == -1 || targetAt[cell] == target { return true }
        return crosses(cell, direction)
    }

    /// Returns whether a path can cross the link in a cell, which is possible for two straight lines.
    private func crosses(_ cell: Int, _ direction: Direction) -> Bool {
        guard targetAt[cell] >= 0 else { return false }
        let line = sides[cell]
        let vertical = bit(.north) | bit(.south)
        let horizontal = bit(.east) | bit(.west)
        return direction.isHorizontal ? line == vertical : line == horizontal
    }

    private mutating func shortest(_ starts: [Step], _ target: Int) -> [Step]? {
        // A state is a cell and the direction of arrival.
        let count = columns * rows * 4
        var cost = Array(repeating: Int.max, count: count)
        var previous = Array(repeating: -1, count: count)
        var buckets: [[Int]] = [[]]
        func push(_ state: Int, _ price: Int, _ from: Int) {
            guard price < cost[state] else { return }
            cost[state] = price
            previous[state] = from
            while buckets.count <= price { buckets.append([]) }
            buckets[price].append(state)
        }
        for start in starts {
            push((start.y * columns + start.x) * 4 + start.direction.rawValue, 1, -1)
        }
        var price = 0
        // A bend at the arrow costs more than other bends.
        var end: (state: Int, direction: Direction, price: Int)?
        while price < buckets.count {
            if let end, end.price <= price {
                return path(to: end.state, last: end.direction, previous)
            }
            while let state = buckets[price].popLast() {
                guard cost[state] == price else { continue }
                budget -= 1
                if budget < 0 { return nil }
                let cell = state / 4
                let (x, y) = (cell % columns, cell / columns)
                guard let arrival = Direction(rawValue: state % 4) else { continue }
                let mustGoStraight = targetAt[cell] != -1 && targetAt[cell] != target
                for direction in Direction.allCases where direction != arrival.opposite {
                    if mustGoStraight, direction != arrival { continue }
                    let (nextX, nextY) = (x + direction.dx, y + direction.dy)
                    guard (0..<columns).contains(nextX), (0..<rows).contains(nextY) else {
                        continue
                    }
                    let next = nextY * columns + nextX
                    if boxAt[next] == target, !mustGoStraight,
                        canEnd(at: cell, x: nextX, y: nextY, for: target)
                    {
                        let total = price + (direction == arrival ? 0 : Self.bend + 1)
                        if total < end?.price ?? .max { end = (state, direction, total) }
                        continue
                    }
                    guard isFree(x: nextX, y: nextY, for: target, direction) else { continue }
                    var step = direction == arrival ? 1 : 1 + Self.bend
                    if targetAt[next] != -1, targetAt[next] != target { step += Self.crossing }
                    push(next * 4 + direction.rawValue, price + step, state)
                }
            }
            price += 1
        }
        return end.map { path(to: $0.state, last: $0.direction, previous) }
    }

    /// Returns whether a path can end at a cell of its target's border: not at a corner, and only with space for the
    /// arrow.
    private func canEnd(at cell: Int, x: Int, y: Int, for target: Int) -> Bool {
        let box = boxes[target]
        let isCorner =
            (x == box.x || x == box.x + box.width - 1)
            && (y == box.y || y == box.y + box.height - 1)
        guard !isCorner else { return false }
        // The upper border contains the title.
        if y == box.y, x < box.x + box.width - 3 { return targetAt[cell] == -1 }
        return targetAt[cell] == -1 || targetAt[cell] == target
    }

    private func path(to state: Int, last: Direction, _ previous: [Int]) -> [Step] {
        var steps: [Step] = []
        var direction = last
        var state = state
        while state >= 0 {
            let cell = state / 4
            steps.append(Step(x: cell % columns, y: cell / columns, direction: direction))
            direction = Direction(rawValue: state % 4) ?? direction
            state = previous[state]
        }
        return steps.reversed()
    }

    private mutating func reserve(_ path: [Step], _ target: Int, _ starts: [Step]) {
        guard let first = path.first else { return }
        var arrival =
            starts.first { $0.x == first.x && $0.y == first.y }?.direction ?? first.direction
        for step in path {
            let cell = step.y * columns + step.x
            sides[cell] |= bit(arrival.opposite) | bit(step.direction)
            targetAt[cell] = targetAt[cell] == -1 || targetAt[cell] == target ? target : -2
            arrival = step.direction
        }
    }
}
