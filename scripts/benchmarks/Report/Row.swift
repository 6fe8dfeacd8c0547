/// One line of the table: its subject, its unit, and the target for Moonpool.
struct Row: Hashable {
    let title: String
    let unit: Unit
    var swift: Target?
    var lua: Target?

    enum Unit: String {
        case perSecond = "/s"
        case nanoseconds = "ns"
        case microseconds = "µs"
        case milliseconds = "ms"
        case mebibytes = "MiB"

        var higherIsBetter: Bool { self == .perSecond }

        /// Converts `seconds` for `count` steps to this unit.
        func value(_ seconds: Double, count: Int = 1) -> Double {
            switch self {
            case .perSecond: Double(count) / seconds
            case .nanoseconds: seconds / Double(count) * 1e9
            case .microseconds: seconds / Double(count) * 1e6
            case .milliseconds: seconds / Double(count) * 1e3
            case .mebibytes: seconds
            }
        }
    }

    enum Target: Hashable {
        case atLeast(Double)
        case atMost(Double)
        /// At least this fraction of SQLite's figure of the same run.
        case ofSQLite(Double)

        func isMet(by value: Double, sqlite: Double?) -> Bool? {
            switch self {
            case .atLeast(let bound): value >= bound
            case .atMost(let bound): value <= bound
            case .ofSQLite(let part): sqlite.map { value >= part * $0 }
            }
        }

        var text: String {
            switch self {
            case .atLeast(let bound): "≥ \(Report.number(bound))"
            case .atMost(let bound): "≤ \(Report.number(bound))"
            case .ofSQLite(1): "≥ SQLite"
            case .ofSQLite(let part): "≥ \(part) SQLite"
            }
        }
    }
}
