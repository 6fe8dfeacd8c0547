/// Delays between attempts, which grow after each failure up to a limit.
package struct BackOff {
    private static let first = 100
    private let most: Int
    private var pause = first

    package init(most: Duration = ConnectionLimits().pause) { self.most = Int(most.milliseconds) }

    /// Returns the milliseconds to wait before the next attempt.
    package mutating func next() -> Int {
        defer { pause = pause * 2 }
        pause = min(pause, most)
        return pause + Int.random(in: 0...pause / 4)
    }

    package mutating func reset() { pause = Self.first }
}

extension Duration {
    /// The whole milliseconds.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
