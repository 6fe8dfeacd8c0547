/// Delays between attempts, which grow after each failure up to five seconds.
package struct BackOff {
    private var pause = 100

    package init() {}

    /// Returns the milliseconds to wait before the next attempt.
    package mutating func next() -> Int {
        defer { pause = min(pause * 2, 5000) }
        return pause + Int.random(in: 0...pause / 4)
    }

    package mutating func reset() { pause = 100 }
}
