/// Detects whether commits follow one another so closely that a redo log is worthwhile: beginning and ending a log
/// costs as much as several commits without one.
struct CommitPace {
    /// The number of consecutive commits after which a log begins.
    var threshold = 4
    private var last: UInt64 = 0
    private var count = 0

    /// The maximum time in nanoseconds between two consecutive commits.
    private static let gap: UInt64 = 500_000_000

    /// Counts a commit that begins, and returns whether enough commits have followed one another closely.
    mutating func isSustained() -> Bool {
        let now = Platform.monotonicNanoseconds()
        count = now &- last < Self.gap ? count + 1 : 1
        last = now
        return count > threshold
    }

    /// Resets the count, and ignores a number of further commits.
    mutating func pause(_ commits: Int) { count = -commits }
}
