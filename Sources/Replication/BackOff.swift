/// Delays between attempts, which grow after each failure up to five seconds.
struct BackOff {
    private var pause = 100

    /// Returns the milliseconds to wait before the next attempt.
    mutating func next() -> Int {
        defer { pause = min(pause * 2, 5000) }
        return pause + Int.random(in: 0...pause / 4)
    }

    mutating func reset() { pause = 100 }
}
