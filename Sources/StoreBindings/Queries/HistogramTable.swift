import LuaHost
import ObjectStore

/// A histogram as scripts get it: an array of bars that prints as a picture.
enum HistogramTable {
    static let method = LuaMethod<ResultsHandle>("histogram") { results, call in
        let path = try call.text(2)
        let limit = call.isNil(3) ? 10 : Int(clamping: try call.integer(3))
        guard (1...1_000).contains(limit) else {
            throw call.argumentError(3, "bars must be from 1 to 1000")
        }
        let histogram = try results.results.histogram(path, bars: limit)
        return call.answer(.table(table(histogram, path, results, call.state)))
    }

    private static func table(
        _ histogram: Histogram, _ path: String, _ results: ResultsHandle, _ state: LuaState
    ) -> LuaTable {
        let bridge = ValueBridge(results.handle, results.frozen)
        let bars = histogram.bars.map { bar in
            let table = state.makeTable(fields: 3)
            table["from"] = bridge.lua(bar.lower)
            table["to"] = bridge.lua(bar.upper)
            table["count"] = .integer(Int64(bar.count))
            return LuaValue.table(table)
        }
        let table = state.makeTable(bars)
        table["missing"] = .integer(Int64(histogram.missing))
        table["others"] = .integer(Int64(histogram.others))
        let picture = picture(of: histogram, path)
        let metatable = state.makeTable(fields: 1)
        metatable["__tostring"] = .function(
            state.makeFunction("tostring") { $0.answer(.text(picture)) })
        table.metatable = metatable
        return table
    }

    private static let longest = 40
    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    private static func picture(of histogram: Histogram, _ path: String) -> String {
        var rows = histogram.bars.map { (label($0), $0.count) }
        if histogram.others > 0 { rows.append(("others", histogram.others)) }
        if histogram.missing > 0 { rows.append(("nil", histogram.missing)) }
        guard !rows.isEmpty else { return "\(path): no values" }
        let width = rows.map(\.0.count).max() ?? 0
        let greatest = max(rows.map(\.1).max() ?? 1, 1)
        let lines = rows.map { label, count in
            let gap = String(repeating: " ", count: width - label.count)
            return "\(gap)\(label) │\(bar(count, of: greatest)) \(count)"
        }
        return ([path] + lines).joined(separator: "\n")
    }

    private static func bar(_ count: Int, of greatest: Int) -> String {
        let length = Int(Double(count) / Double(greatest) * Double(longest * 8))
        // What there is can be seen, however little it is.
        if length == 0 { return count > 0 ? eighths[1] : "" }
        return String(repeating: "█", count: length / 8) + eighths[length % 8]
    }

    private static func label(_ bar: Histogram.Bar) -> String {
        bar.lower == bar.upper
            ? text(bar.lower) : "\(text(bar.lower)) – \(text(bar.upper))"
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .double(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let text):
            String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 }.prefix(24))
        default: value.summary
        }
    }
}
