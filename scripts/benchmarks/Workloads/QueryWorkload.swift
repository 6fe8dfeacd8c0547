/// W4: queries that examine every object.
///
/// W6: sorting.
enum QueryWorkload {
    private static let count = ms("W4 count age > 50", 1)
    private static let conjunction = ms("W4 count age > 50 and name beginswith 'A'", 4)
    private static let sum = ms("W4 sum score where active", 2.5)
    private static let sort = ms("W6 sort all by score", 150)
    private static let best = ms("W6 first 100 by score", 5)

    private static func ms(_ title: String, _ bound: Double) -> Row {
        Row(title: title, unit: .milliseconds, swift: .atMost(bound), lua: .atMost(bound))
    }

    static func run(_ bench: Bench) throws {
        if bench.options.includes("W4") {
            try bench.repeatEach(count) { [Double(try $0.countOlder(than: 50))] }
            try bench.repeatEach(conjunction) {
                [Double(try $0.countOlder(than: 50, namePrefix: "A"))]
            }
            try bench.repeatEach(sum) { [try $0.sumOfActiveScores()] }
        }
        if bench.options.includes("W6") {
            try bench.repeatEach(sort) { try $0.keysByScore().map(Double.init) }
            try bench.repeatEach(best) { try $0.firstKeysByScore().map(Double.init) }
        }
    }
}
