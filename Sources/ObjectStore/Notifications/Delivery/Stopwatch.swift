import SystemCalls

/// Measures elapsed time.
struct Stopwatch {
    private let start = MonotonicClock.nanoseconds

    /// The microseconds since the stopwatch was created.
    var microseconds: Double { Double(MonotonicClock.nanoseconds - start) / 1000 }
}
