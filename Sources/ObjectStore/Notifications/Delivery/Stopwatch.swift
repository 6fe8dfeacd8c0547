#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Measures how long something takes, for less than `ContinuousClock`, whose durations have 128 bits.
struct Stopwatch {
    private let start = Self.now

    /// The microseconds since it was made.
    var microseconds: Double { Double(Self.now - start) / 1000 }

    /// Nanoseconds since some moment that stays the same; steps of the system's clock do not count.
    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
