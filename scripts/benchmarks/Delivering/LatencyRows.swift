/// Two rows of the table about the same waits: their median and their 99th percentile.
///
/// The waits of all repetitions are taken together, for a percentile of few says little.
struct LatencyRows {
    let median: Row
    let tail: Row

    /// The median is held to the design's targets for W8, unless the row is no observer's.
    init(_ title: String, hasTargets: Bool = true) {
        median = Row(
            title: "W8 \(title)", unit: .microseconds, swift: hasTargets ? .atMost(80) : nil,
            lua: hasTargets ? .atMost(120) : nil)
        tail = Row(title: "W8 \(title), p99", unit: .microseconds)
    }

    /// Repeats a step that gives the seconds of its waits for every contestant; nil where a
    /// contestant has nothing like it.
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
