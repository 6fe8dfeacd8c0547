import Glibc

/// Monotonic time in nanoseconds.
func nanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

/// The seconds that `body` takes, and what it returns.
func timed<Result>(_ body: () throws -> Result) rethrows -> (seconds: Double, result: Result) {
    let start = nanoseconds()
    let result = try body()
    return (Double(nanoseconds() - start) / 1e9, result)
}

/// The seconds that `body` takes.
func seconds(_ body: () throws -> Void) rethrows -> Double { try timed(body).seconds }

/// The middle of the samples; nil without any.
func median(_ samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
