import Foundation

/// The seeds of random comparisons, in groups of one test case each.
///
/// `MOONPOOL_SEEDS=10000` runs each comparison with 10000 seeds; `MOONPOOL_SEEDS=14520..<14540` runs these seeds.
enum RandomSeeds {
    private static let groupSize = 20

    /// The seeds begin above those of other tests.
    private static let range: Range<Int> = {
        let text = ProcessInfo.processInfo.environment["MOONPOOL_SEEDS"] ?? "200"
        let bounds = text.split(separator: "..<").compactMap { Int($0) }
        switch bounds.count {
        case 1: return 10_000..<10_000 + bounds[0]
        case 2 where bounds[0] <= bounds[1]: return bounds[0]..<bounds[1]
        default: preconditionFailure("MOONPOOL_SEEDS: expected N or FIRST..<END, got '\(text)'")
        }
    }()

    /// The groups of seeds.
    static let groups: [Range<UInt64>] = stride(
        from: range.lowerBound, to: range.upperBound, by: groupSize
    )
    .map { UInt64($0)..<UInt64(min($0 + groupSize, range.upperBound)) }
}
