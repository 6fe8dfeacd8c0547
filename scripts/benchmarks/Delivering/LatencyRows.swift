/// Two rows of the table about the same delays: the median and the 99th percentile.
///
/// The delays of all repetitions are combined, because a percentile of few samples means little.
struct LatencyRows {
    let median: Row
    let tail: Row

    /// The median is compared with the targets for W8, unless the row is not about an observer.
    init(_ title: String, hasTargets: Bool = true) {
        median = Row(
            title: "W8 \(title)", unit: .microseconds, swift: hasTargets ? .atMost(80) : nil,
            lua: hasTargets ? .atMost(120) : nil)
        tail = Row(title: "W8 \(title), p99", unit: .microseconds)
    }

    /// Repeats a step that returns delays in seconds, for every contestant; nil if a contestant has no equivalent.
    func measure(_ bench: Bench, _ step: (any Contestant) throws -> [Double]?) throws {
        guard bench.options.includes(median) || bench.options.includes(tail) else { return }
        printError("\(median.title) ...")
        var waits: [String: [Double]] = [:]
        for _ in 0..<min(3, bench.options.repetitions) {
            for contestant in bench.contestants {
                waits[contestant.name, default: []] += try step(contestant) ?? []
            }
        }
        for row in [median, tail] where bench.options.includes(row) {
            for contestant in bench.contestants {
                let part = row == median ? 0.5 : 0.99
                if let value = percentile(part, of: waits[contestant.name] ?? []) {
                    bench.report.add(row.unit.value(value), to: row, of: contestant.name)
                }
            }
        }
    }
}
