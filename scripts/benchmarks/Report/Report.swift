/// Collects samples and answers, and prints the table.
final class Report {
    static let swift = "Swift"
    static let lua = "Lua"
    static let sqlite = "SQLite"
    static let lmdb = "LMDB rows"

    private(set) var rows: [Row] = []
    private var samples: [Row: [String: [Double]]] = [:]
    private var answers: [Row: [(name: String, answer: [Double])]] = [:]
    private(set) var disagreements: [String] = []

    /// Adds one repetition of one contestant.
    func add(_ value: Double, answer: [Double] = [], to row: Row, of contestant: String) {
        if samples[row] == nil { rows.append(row) }
        samples[row, default: [:]][contestant, default: []].append(value)
        if let first = answers[row]?.first, !Self.agree(first.answer, answer) {
            disagreements.append(
                "\(row.title): \(first.name) gives \(first.answer.prefix(4)), "
                    + "\(contestant) gives \(answer.prefix(4))")
        }
        answers[row, default: []].append((contestant, answer))
    }

    /// Sums of doubles depend on the order of the additions, so they need not be exactly equal.
    private static func agree(_ one: [Double], _ other: [Double]) -> Bool {
        one.count == other.count
            && zip(one, other).allSatisfy { abs($0 - $1) <= 1e-9 * max(abs($0), abs($1)) }
    }

    private func value(_ row: Row, _ contestant: String) -> Double? {
        median(samples[row]?[contestant] ?? [])
    }

    /// Returns the table: for each workload the medians, the ratio of Moonpool to each peer, and whether the target is
    /// met.
    func table() -> [String] {
        let head = [
            "workload", "unit", "Swift", "target", "", "Lua", "target", "", "SQLite", "Swift ×",
            "Lua ×", "LMDB rows", "Swift ×", "Lua ×",
        ]
        let lines = [head] + rows.map(cells)
        let widths = head.indices.map { column in lines.map { $0[column].count }.max()! }
        return lines.enumerated().flatMap { number, cells in
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < 2 ? cell.0 + space : space + cell.0
            }
            let line = padded.joined(separator: "  ")
            return number == 0 ? [line, String(repeating: "─", count: line.count)] : [line]
        }
    }

    private func cells(_ row: Row) -> [String] {
        let sqlite = value(row, Self.sqlite)
        func text(_ value: Double?) -> String { value.map(Self.number) ?? "–" }
        func verdict(_ target: Row.Target?, _ value: Double?) -> String {
            guard let target, let value, let met = target.isMet(by: value, sqlite: sqlite) else {
                return ""
            }
            return met ? "✓" : "missed"
        }
        func ratio(_ ours: String, _ peer: String) -> String {
            guard let ours = value(row, ours), let peer = value(row, peer), ours > 0, peer > 0
            else {
                return ""
            }
            return Self.number(row.unit.higherIsBetter ? ours / peer : peer / ours)
        }
        let swift = value(row, Self.swift)
        let lua = value(row, Self.lua)
        return [
            row.title, row.unit.rawValue, text(swift), row.swift?.text ?? "",
            verdict(row.swift, swift), text(lua), row.lua?.text ?? "", verdict(row.lua, lua),
            text(sqlite), ratio(Self.swift, Self.sqlite), ratio(Self.lua, Self.sqlite),
            text(value(row, Self.lmdb)), ratio(Self.swift, Self.lmdb), ratio(Self.lua, Self.lmdb),
        ]
    }

    /// Formats a number with three significant digits and grouped thousands; millions as a number and `M`.
    static func number(_ value: Double) -> String {
        switch abs(value) {
        case 1e6...: return "\(rounded(value / 1e6, 2)) M"
        case 1000...:
            let whole = Int(value.rounded())
            let rest = String(whole % 1000)
            return "\(whole / 1000)," + String(repeating: "0", count: 3 - rest.count) + rest
        case 100...: return String(Int(value.rounded()))
        case 10...: return rounded(value, 1)
        default: return rounded(value, 2)
        }
    }

    private static func rounded(_ value: Double, _ digits: Int) -> String {
        let scale = digits == 2 ? 100.0 : 10.0
        let text = String((value * scale).rounded() / scale)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
