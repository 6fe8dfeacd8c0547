#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Measures elapsed time, at a lower cost than `ContinuousClock`, whose durations have 128 bits.
struct Stopwatch {
    private let start = Self.now

    /// The microseconds since the stopwatch was created.
    var microseconds: Double { Double(Self.now - start) / 1000 }

    /// The nanoseconds since a fixed point in time; changes of the system clock do not matter.
    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
