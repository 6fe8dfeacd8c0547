import Foundation
import FoundationXML
import TestThreads
import Testing

@testable import Charts

/// Plots and bars as text and as SVG.
@Suite struct PlotTests {
    /// Returns whether a text is well-formed XML.
    static func isXML(_ text: String) -> Bool { XMLParser(data: Data(text.utf8)).parse() }

    private static func plot(
        _ points: [(x: Double, y: Double)], x: Plot.Kind = .number, hasLines: Bool = false
    ) -> Plot {
        Plot(
            x: Plot.Axis(title: "x", kind: x), y: Plot.Axis(title: "y"),
            series: [Plot.Series(name: "", points: points)], hasLines: hasLines)
    }

    private static let hard: [[(x: Double, y: Double)]] = [
        [], [(0, 0)], [(1, 5)], [(3, -2), (3, -2)], [(0, 0), (1e300, 1e300)],
        [(-1.7e308, -1.7e308), (1.7e308, 1.7e308)], [(1, 1), (1 + 4e-16, 1 + 4e-16)],
        [(0, .leastNonzeroMagnitude), (1, 2 * .leastNonzeroMagnitude)],
        [(-9.2e18, 0), (9.2e18, 1)],
        (0..<5_000).map { (Double($0), Double($0 * $0 % 997)) },
    ]

    @Test(arguments: [20, 60, 80, 120]) func `no line is wider than the window`(_ columns: Int) {
        for points in Self.hard {
            for kind in [Plot.Kind.number, .integer, .date] {
                let plot = Self.plot(points, x: kind, hasLines: points.count % 2 == 0)
                let lines = Chart.plot(plot).lines(ChartStyle(columns: columns))
                #expect(lines.allSatisfy { $0.count <= columns }, "\(points.prefix(3)) \(kind)")
                #expect(Self.isXML(Chart.plot(plot).svg))
            }
        }
    }

    @Test func `points have the positions of the ticks`() {
        let lines = Chart.plot(Self.plot([(0, 0), (10, 100)])).lines(
            ChartStyle(columns: 40, rows: 11))
        #expect(lines.count == 1 + 11 + 3)
        #expect(lines[1].hasPrefix("100 ┤") && lines[1].hasSuffix("⠈"))
        #expect(lines[11].hasPrefix("  0 ┤⡀"))
        #expect(lines[12].hasPrefix("    └┬"))
        #expect(lines[13].split(separator: " ").first == "0")
        #expect(lines[13].split(separator: " ").last == "10")
        #expect(lines[14].hasSuffix("x"))
    }

    @Test func `lines connect points in the order of x`() {
        let plot = Self.plot([(2, 0), (0, 0), (1, 0)], hasLines: true)
        let lines = Chart.plot(plot).lines(ChartStyle(columns: 30, rows: 5))
        let bottom = lines[5].drop { $0 != "┤" && $0 != "│" }.dropFirst()
        #expect(bottom.allSatisfy { $0 != " " } && bottom.count > 20, "\(bottom)")
    }

    @Test func `series differ by marks without colors and by colors otherwise`() {
        let plot = Plot(
            x: Plot.Axis(title: "x"), y: Plot.Axis(title: "y"),
            series: [
                Plot.Series(name: "a & b", points: [(0, 0)]),
                Plot.Series(name: "c", points: [(1, 1)]),
            ], missing: 2)
        let plain = Chart.plot(plot).lines(ChartStyle(columns: 40))
        #expect(plain.suffix(2) == ["● a & b   ○ c", "2 objects have no value"])
        #expect(plain.dropLast(2).joined().contains("○"))
        var painted: Set<Int> = []
        let colored = ChartStyle(columns: 40, isColored: true) {
            $0.count
        } paint: { text, ink in
            if case .series(let index) = ink { painted.insert(index) }
            return text
        }
        #expect(!Chart.plot(plot).lines(colored).dropLast(2).joined().contains("○"))
        #expect(painted == [0, 1])
        let svg = Chart.plot(plot).svg
        #expect(Self.isXML(svg) && svg.contains("a &amp; b"))
    }

    @Test func `ticks are at round values within the axis`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            let low = Double.random(in: -1e6...1e6, using: &generator)
            let high = low + pow(10, Double.random(in: -3...6, using: &generator))
            let scale = Scale(low...high, kind: .number, count: 6)
            #expect(scale.lower <= low && scale.upper >= high)
            #expect((2...14).contains(scale.ticks.count), "\(low) \(high)")
            let labels = scale.ticks.map(\.label)
            #expect(Set(labels).count == labels.count, "\(labels)")
        }
        #expect(Scale(0...10_000, kind: .integer, count: 2).ticks.map(\.label).last == "10,000")
        #expect(Scale(0...1, kind: .integer, count: 9).ticks.map(\.label) == ["0", "1"])
        #expect(Scale(0...0.5, kind: .number, count: 5).ticks.map(\.label)[1] == "0.1")
    }

    @Test func `dates have ticks at the units of the calendar`() {
        func labels(_ from: String, _ to: String) -> [String] {
            let style = Date.ISO8601FormatStyle()
            guard let from = try? style.parse(from), let to = try? style.parse(to) else {
                return []
            }
            return CivilTime.ticks(
                from.timeIntervalSince1970...to.timeIntervalSince1970, count: 6
            ).map(\.label)
        }
        #expect(
            labels("2024-01-15T00:00:00Z", "2024-06-02T00:00:00Z")
                == ["Feb 2024", "Mar 2024", "Apr 2024", "May 2024", "Jun 2024"])
        #expect(labels("2019-05-01T00:00:00Z", "2024-06-01T00:00:00Z").contains("2024"))
        #expect(labels("2024-02-27T00:00:00Z", "2024-03-02T00:00:00Z").contains("Feb 29"))
        #expect(
            labels("2024-02-27T10:00:00Z", "2024-02-27T10:05:00Z")
                == ["10:00", "10:01", "10:02", "10:03", "10:04", "10:05"])
        for day in stride(from: -700_000, through: 100_000, by: 997) {
            let time = Double(day) * 86_400
            #expect(CivilTime(time).time == time)
        }
    }

    @Test(arguments: [20, 60, 80, 120]) func `bars fit the window and show their numbers`(
        _ columns: Int
    ) {
        let bars = [
            BarChart.Bar(label: String(repeating: "long ", count: 12), count: 12_345_678),
            BarChart.Bar(label: "日本", count: 1), BarChart.Bar(label: "none", count: 0),
        ]
        let chart = Chart.bars(BarChart(title: "a <b>", bars: bars))
        let lines = chart.lines(ChartStyle(columns: columns))
        #expect(lines.allSatisfy { $0.count <= columns }, "\(lines)")
        #expect(lines[1].hasSuffix(" 12345678") && lines[2].contains("▏ 1"))
        #expect(lines[3].hasSuffix("│ 0"))
        #expect(Self.isXML(chart.svg) && chart.svg.contains("a &lt;b&gt;"))
    }
}
