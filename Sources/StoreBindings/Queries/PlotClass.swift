import Charts
import LuaHost
import ObjectStore

/// A chart for scripts: prints as text and renders as SVG.
final class PlotHandle {
    let chart: Chart

    init(_ chart: Chart) { self.chart = chart }

    static let type: LuaClass<PlotHandle> = LuaClass(
        name: "Plot",
        methods: [
            LuaMethod("svg") { plot, call in
                call.answer(.text(plot.chart.svg))
            }
        ],
        metamethods: [
            LuaMethod("__tostring") { plot, call in
                call.answer(.text(plot.chart.lines(ChartStyle()).joined(separator: "\n")))
            }
        ])

    /// The method `plot`: `results:plot("date", "price", { by = "symbol", lines = true })`.
    static let method = LuaMethod<ResultsHandle>("plot") { results, call in
        let (x, y) = (try call.text(2), try call.text(3))
        let options = try call.options(4)
        let group = try text(options, "by", call)
        let title = try text(options, "title", call)
        let points = try results.results.plotPoints(x: x, y: y, group: group)
        let hasLines = options.map { $0["lines"].isTruthy } ?? false
        let plot = plot(points, x, y, hasLines: hasLines, title: title ?? "")
        return call.answer(PlotHandle(.plot(plot)), PlotHandle.type)
    }

    private static func text(
        _ options: LuaTable?, _ name: String, _ call: borrowing LuaCall
    ) throws -> String? {
        guard let value = options?[name], !value.isNil else { return nil }
        guard let text = value.text else {
            throw call.argumentError(4, "option '\(name)': expected a string")
        }
        return text
    }

    private static func plot(
        _ points: PlotPoints, _ x: String, _ y: String, hasLines: Bool, title: String
    ) -> Plot {
        Plot(
            x: Plot.Axis(title: x, kind: kind(points.x)),
            y: Plot.Axis(title: y, kind: kind(points.y)),
            series: points.groups.map { Plot.Series(name: $0.name ?? "", points: $0.points) },
            hasLines: hasLines, missing: points.missing, title: title)
    }

    private static func kind(_ axis: PlotPoints.Axis) -> Plot.Kind {
        if !axis.texts.isEmpty { return .names(axis.texts) }
        return switch axis.type {
        case .int: .integer
        case .date: .date
        default: .number
        }
    }
}

extension StoreModule {
    /// Returns the chart of a value: a plot, a histogram or sections; nil for other values.
    ///
    /// Throws errors of reading sections.
    package func chart(of value: LuaValue) throws -> Chart? {
        if case .table(let table) = value {
            return table.metatable?[HistogramTable.chartKey].userdata?.object(as: PlotHandle.type)?
                .chart
        }
        guard let userdata = value.userdata else { return nil }
        if let plot = userdata.object(as: PlotHandle.type) { return plot.chart }
        guard let sections = userdata.object(as: SectionsHandle.type)?.sections, sections.isValid
        else { return nil }
        let count = try sections.count()
        let bars = try (0..<min(count, Self.maxBars)).map { index in
            let (key, objects) = try sections.section(at: index)
            return BarChart.Bar(
                label: HistogramTable.text(key == .null ? .string("nil") : key),
                count: try objects.count())
        }
        let name = try sections.results.classSchema().name
        return .bars(BarChart(title: "\(name) by \(sections.keyPath)", bars: bars))
    }

    private static var maxBars: Int { 1_000 }
}

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
