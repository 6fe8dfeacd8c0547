import Glibc
import Synchronization

/// Returns monotonic time in nanoseconds.
func nanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

/// Whether steps are measured by the processor time of the whole process, for a busy machine.
let countsProcessorTime = Atomic(false)

/// Returns the duration of `body` in seconds, and its result.
func timed<Result>(_ body: () throws -> Result) rethrows -> (seconds: Double, result: Result) {
    let clock =
        countsProcessorTime.load(ordering: .relaxed) ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC
    var start = timespec()
    var end = timespec()
    clock_gettime(clock, &start)
    let result = try body()
    clock_gettime(clock, &end)
    let seconds = Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
    return (seconds, result)
}

/// Returns the duration of `body` in seconds.
func seconds(_ body: () throws -> Void) rethrows -> Double { try timed(body).seconds }

/// Returns the median of the samples; nil without samples.
func median(_ samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// Returns the smallest sample that at least this fraction of the samples does not exceed; nil without samples.
func percentile(_ part: Double, of samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let place = Int((part * Double(samples.count)).rounded(.up)) - 1
    return samples.sorted()[min(max(place, 0), samples.count - 1)]
}
