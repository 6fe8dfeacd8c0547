#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The machine's monotonic clock, which changes of the system clock do not affect.
package enum MonotonicClock {
    /// The nanoseconds since a fixed point in time.
    ///
    /// Costs less than `ContinuousClock`, whose durations have 128 bits.
    package static var nanoseconds: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    }
}
