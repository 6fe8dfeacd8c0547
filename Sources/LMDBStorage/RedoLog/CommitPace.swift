/// Whether commits follow one another so closely that a log pays: to begin and to end one costs as much as some commits
/// without.
struct CommitPace {
    /// How many commits in a row are made without a log.
    var threshold = 4
    private var last: UInt64 = 0
    private var count = 0

    /// Longer than this between two commits is no row.
    private static let gap: UInt64 = 500_000_000

    /// Counts a commit that begins; whether it is one of many.
    mutating func isSustained() -> Bool {
        let now = Platform.monotonicNanoseconds()
        count = now &- last < Self.gap ? count + 1 : 1
        last = now
        return count > threshold
    }

    /// Forgets the commits so far, and some that follow.
    mutating func pause(_ commits: Int) { count = -commits }
}
