import Foundation

/// The seeds of random comparisons, in groups that one test runs after each other.
///
/// `MOONPOOL_SEEDS=10000` makes each comparison run as many.
enum RandomSeeds {
    private static let count =
        ProcessInfo.processInfo.environment["MOONPOOL_SEEDS"].flatMap { UInt64($0) } ?? 200
    private static let groupSize: UInt64 = 20

    /// The groups; they begin above the seeds that other tests name.
    static let groups: [Range<UInt64>] = stride(from: 0, to: count, by: Int(groupSize)).map {
        10_000 + $0..<10_000 + min($0 + groupSize, count)
    }
}
