/// Points between two axes, in one or more series.
///
///     let series = Plot.Series(name: "", points: [(0, 1), (1, 4), (2, 9)])
///     let plot = Plot(x: .init(title: "n"), y: .init(title: "square"), series: [series])
///     print(Chart.plot(plot).lines(ChartStyle(columns: 60)).joined(separator: "\n"))
package struct Plot: Sendable {
    /// The kind of values on an axis.
    package enum Kind: Sendable, Equatable {
        case number
        case integer
        /// Seconds since 1970, in UTC.
        case date
        /// Indexes into these names.
        case names([String])
    }

    /// An axis.
    package struct Axis: Sendable {
        /// The title, usually the name of a property.
        package var title: String
        package var kind: Kind

        package init(title: String, kind: Kind = .number) {
            self.title = title
            self.kind = kind
        }
    }

    /// A set of points with its own color.
    package struct Series: Sendable {
        /// The name in the legend; empty for the only series.
        package var name: String
        package var points: [(x: Double, y: Double)]

        package init(name: String, points: [(x: Double, y: Double)]) {
            self.name = name
            self.points = points
        }
    }

    /// The horizontal axis.
    package var x: Axis
    /// The vertical axis.
    package var y: Axis
    /// The series in the order of the legend.
    package var series: [Series]
    /// Whether lines connect the points of a series, in the order of x.
    package var hasLines: Bool
    /// The number of objects without a point.
    package var missing: Int
    /// The title above the plot; empty for none.
    package var title: String

    /// Creates a plot; all coordinates must be finite.
    package init(
        x: Axis, y: Axis, series: [Series], hasLines: Bool = false, missing: Int = 0,
        title: String = ""
    ) {
        self.x = x
        self.y = y
        self.series = series
        self.hasLines = hasLines
        self.missing = missing
        self.title = title
        guard hasLines else { return }
        for index in self.series.indices { self.series[index].points.sort { $0.x < $1.x } }
    }

    /// The range of the x or y coordinates; nil without points.
    func range(_ coordinate: ((x: Double, y: Double)) -> Double) -> ClosedRange<Double>? {
        var lower = Double.infinity
        var upper = -Double.infinity
        for series in series {
            for point in series.points {
                lower = min(lower, coordinate(point))
                upper = max(upper, coordinate(point))
            }
        }
        return lower <= upper ? lower...upper : nil
    }

    /// The line of remarks below the plot; nil for none.
    var remark: String? {
        guard missing > 0 else { return nil }
        return missing == 1 ? "1 object has no value" : "\(missing) objects have no value"
    }
}
