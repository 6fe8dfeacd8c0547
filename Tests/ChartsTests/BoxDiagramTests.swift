import Testing

@testable import Charts

/// Boxes and links between them.
@Suite struct BoxDiagramTests {
    private static func random(_ seed: UInt64) -> BoxDiagram {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }
        let count = 1 + next(12)
        return BoxDiagram(
            boxes: (0..<count).map { box in
                BoxDiagram.Box(
                    title: "Class\(box)", remark: "\(next(100_000))",
                    rows: (0..<next(20)).map { row in
                        let link = next(3) == 0 ? next(count) : nil
                        return BoxDiagram.Row(
                            "property\(row)", link.map { "Class\($0)" } ?? "string", link: link)
                    })
            })
    }

    @Test(arguments: [60, 80, 120]) func `links never cross a box and end at their target`(
        _ columns: Int
    ) {
        for seed in 1...40 {
            let diagram = Self.random(UInt64(seed))
            let layout = BoxLayout(diagram, columns: columns) { $0.count }
            func box(_ x: Int, _ y: Int) -> Int? {
                layout.boxes.firstIndex {
                    ($0.x..<$0.x + $0.width).contains(x) && ($0.y..<$0.y + $0.height).contains(y)
                }
            }
            for (index, placed) in layout.boxes.enumerated() {
                #expect(placed.x >= 0 && placed.x + placed.width <= columns)
                // Boxes do not overlap.
                #expect(box(placed.x, placed.y) == index)
            }
            for link in layout.links {
                for (step, next) in zip(link.path, link.path.dropFirst()) {
                    #expect(next.x == step.x + step.direction.dx)
                    #expect(next.y == step.y + step.direction.dy)
                }
                #expect(link.path.allSatisfy { box($0.x, $0.y) == nil }, "seed \(seed)")
                if let last = link.path.last {
                    #expect(
                        box(last.x + last.direction.dx, last.y + last.direction.dy) == link.target)
                }
            }
            let lines = diagram.lines(ChartStyle(columns: columns))
            #expect(lines.allSatisfy { $0.count <= columns })
            for placed in layout.boxes {
                #expect(
                    lines.contains { $0.contains("╭─ \(placed.box.title) \(placed.box.remark) ") })
                for row in placed.box.rows {
                    #expect(lines.contains { $0.contains(row.name) }, "seed \(seed)")
                }
            }
            #expect(PlotTests.isXML(diagram.svg))
        }
    }

    @Test func `two linked boxes`() {
        let diagram = BoxDiagram(
            boxes: [
                BoxDiagram.Box(
                    title: "Dog", remark: "3",
                    rows: [.init("id", "int"), .init("owner", "Person", link: 1)]),
                BoxDiagram.Box(title: "Person", remark: "1", rows: [.init("name", "string")]),
            ])
        #expect(
            diagram.lines(ChartStyle(columns: 60)).joined(separator: "\n") == """
                   ╭─ Dog 3 ───────╮     ╭─ Person 1 ───╮
                   │ id     int    │   ╭▶│ name  string │
                   │ owner  Person ├───╯ ╰──────────────╯
                   ╰───────────────╯
                """)
    }

    @Test func `a long box omits rows, links last`() {
        let rows = (1...40).map { BoxDiagram.Row("p\($0)", "int", link: $0 == 40 ? 0 : nil) }
        let lines = BoxDiagram(boxes: [.init(title: "Wide", remark: "0", rows: rows)]).lines(
            ChartStyle(columns: 60))
        #expect(lines.contains { $0.contains("p40") })
        #expect(lines.contains { $0.contains("… 27 more") }, "\(lines)")
        #expect(lines.count <= 18)
    }
}
