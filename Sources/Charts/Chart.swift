/// A chart: a plot of points, or bars.
///
///     let chart = Chart.bars(BarChart(title: "age", bars: [.init(label: "1 – 5", count: 12)]))
///     print(chart.lines(ChartStyle(columns: 60)).joined(separator: "\n"))
///     let document = chart.svg
package enum Chart: Sendable {
    /// Points or lines between two axes.
    case plot(Plot)
    /// Horizontal bars with labels.
    case bars(BarChart)

    /// Returns the chart as lines of text, which are at most as wide as the style's columns.
    package func lines(_ style: ChartStyle) -> [String] {
        switch self {
        case .plot(let plot): PlotText(plot, style).lines
        case .bars(let bars): bars.lines(style)
        }
    }

    /// The chart as an SVG document.
    package var svg: String {
        switch self {
        case .plot(let plot): PlotPicture(plot).svg
        case .bars(let bars): bars.svg
        }
    }
}
