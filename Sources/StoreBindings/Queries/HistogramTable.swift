import Charts
import LuaHost
import ObjectStore

/// A histogram for scripts: an array of bars that prints as a chart.
enum HistogramTable {
    static let method = LuaMethod<ResultsHandle>("histogram") { results, call in
        let path = try call.text(2)
        let limit = call.isNil(3) ? 10 : Int(clamping: try call.integer(3))
        guard (1...1_000).contains(limit) else {
            throw call.argumentError(3, "bars must be from 1 to 1000")
        }
        let histogram = try results.results.histogram(path, bars: limit)
        return call.answer(.table(table(of: histogram, path: path, in: results, state: call.state)))
    }

    /// The field of the metatable that holds the chart.
    static let chartKey = "__chart"

    private static func table(
        of histogram: Histogram, path: String, in results: ResultsHandle, state: LuaState
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
        let chart = Chart.bars(chart(of: histogram, path))
        let metatable = state.makeTable(fields: 2)
        metatable["__tostring"] = .function(
            state.makeFunction("tostring") {
                $0.answer(.text(chart.lines(ChartStyle()).joined(separator: "\n")))
            })
        metatable[chartKey] = state.userdata(PlotHandle(chart), PlotHandle.type)
        table.metatable = metatable
        return table
    }

    private static func chart(of histogram: Histogram, _ path: String) -> BarChart {
        var bars = histogram.bars.map { BarChart.Bar(label: label($0), count: $0.count) }
        if histogram.others > 0 {
            bars.append(BarChart.Bar(label: "others", count: histogram.others))
        }
        if histogram.missing > 0 {
            bars.append(BarChart.Bar(label: "nil", count: histogram.missing))
        }
        return BarChart(title: path, bars: bars)
    }

    private static func label(_ bar: Histogram.Bar) -> String {
        bar.lower == bar.upper
            ? text(bar.lower) : "\(text(bar.lower)) – \(text(bar.upper))"
    }

    /// Returns a value as the label of a bar, on one line.
    static func text(_ value: Value) -> String {
        switch value {
        case .double(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let text):
            String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 }.prefix(24))
        case .date(let moment):
            // The time of midnight is omitted.
            moment.description.replacing("T00:00:00Z", with: "")
        default: value.summary
        }
    }
}
