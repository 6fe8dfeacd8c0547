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

    /// The same for a clock that also advances while the machine sleeps.
    package static var nanosecondsWithSleep: UInt64 {
        var now = timespec()
        #if canImport(Glibc)
            clock_gettime(CLOCK_BOOTTIME, &now)
        #else
            clock_gettime(CLOCK_MONOTONIC, &now)
        #endif
        return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    }
}

/// A file with a time limit that one process extends and others check.
///
/// The limit is a time of ``MonotonicClock/nanosecondsWithSleep``.
package enum DeadlineFile {
    /// Sets the limit, which is at most `span` nanoseconds from now.
    ///
    /// The file gets the mode of the data file. Without a successful write, the previous limit remains.
    package static func write(
        _ path: String, of data: String, until limit: UInt64, span: UInt64
    ) {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        FileAccess(at: data)?.applyToCompanion(file)
        withUnsafeBytes(of: (limit, span)) { _ = pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    /// Whether the limit is in the future; false without a file.
    ///
    /// The clock of an earlier start of the machine can be far ahead, so the limit counts only within its span.
    package static func isPending(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var read: (limit: UInt64, span: UInt64) = (0, 0)
        let count = withUnsafeMutableBytes(of: &read) { pread(file, $0.baseAddress, $0.count, 0) }
        let now = MonotonicClock.nanosecondsWithSleep
        return count == 16 && now < read.limit && read.limit - now <= read.span
    }

    /// Removes the file.
    package static func remove(_ path: String) { unlink(path) }
}
