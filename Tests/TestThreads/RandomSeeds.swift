import Glibc

/// How much random comparisons and exhaustive loops test: usually a sample, and with `MOONPOOL_SEEDS`, as in
/// `scripts/check --long`, all.
///
/// `MOONPOOL_SEEDS=10000` compares small stores with 10000 seeds; `MOONPOOL_SEEDS=14520..<14540` uses these seeds.
public enum RandomSeeds {
    private static let chosen = getenv("MOONPOOL_SEEDS").map { String(cString: $0) }
    private static let groupSize = 20

    /// The seeds begin above those of other tests.
    private static let range: Range<Int> = {
        let text = chosen ?? "40"
        let bounds = text.split(separator: ".").compactMap { Int($0.drop { $0 == "<" }) }
        switch bounds.count {
        case 1: return 10_000..<10_000 + bounds[0]
        case 2 where bounds[0] <= bounds[1]: return bounds[0]..<bounds[1]
        default: preconditionFailure("MOONPOOL_SEEDS: expected N or FIRST..<END, got '\(text)'")
        }
    }()

    /// The seeds of comparisons of small stores, in groups of one test case each.
    public static let groups: [Range<UInt64>] = stride(
        from: range.lowerBound, to: range.upperBound, by: groupSize
    )
    .map { UInt64($0)..<UInt64(min($0 + groupSize, range.upperBound)) }

    /// Whether everything is tested.
    public static let areAll = chosen != nil

    /// Returns a number of rounds, or the distance between steps.
    public static func count(_ usual: Int, of all: Int) -> Int { areAll ? all : usual }

    /// Returns a number of elements at equal distances, among them the first and the last one.
    public static func sample<Element>(_ count: Int, of all: some Collection<Element>) -> [Element]
    {
        let elements = Array(all)
        guard !areAll, count < elements.count else { return elements }
        let steps = max(1, count - 1)
        return (0..<count).map { elements[$0 * (elements.count - 1) / steps] }
    }
}
