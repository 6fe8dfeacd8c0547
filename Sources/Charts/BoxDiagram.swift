/// Boxes with rows of text, and links from rows to boxes, laid out for a width.
///
///     let dog = BoxDiagram.Box(title: "Dog", remark: "3", rows: [.init("owner", "Person", link: 1)])
///     let person = BoxDiagram.Box(title: "Person", remark: "2", rows: [.init("name", "string")])
///     let diagram = BoxDiagram(boxes: [dog, person])
///     print(diagram.lines(ChartStyle(columns: 60)).joined(separator: "\n"))
package struct BoxDiagram: Sendable {
    /// A line in a box.
    package struct Row: Sendable {
        package var name: String
        package var detail: String
        /// The index of the box that the row links to; nil for none.
        package var link: Int?

        package init(_ name: String, _ detail: String, link: Int? = nil) {
            self.name = name
            self.detail = detail
            self.link = link
        }
    }

    /// A box.
    package struct Box: Sendable {
        package var title: String
        /// A text after the title, for example a count.
        package var remark: String
        package var rows: [Row]

        package init(title: String, remark: String, rows: [Row]) {
            self.title = title
            self.remark = remark
            self.rows = rows
        }
    }

    /// The boxes.
    package var boxes: [Box]

    package init(boxes: [Box]) { self.boxes = boxes }

    /// Draws the diagram as text whose lines are at most as wide as the style's columns.
    ///
    /// Links without enough space are omitted; the details of their rows still contain the target.
    package func lines(_ style: ChartStyle) -> [String] {
        let layout = BoxLayout(self, columns: style.columns, width: style.width)
        return BoxText(layout, style).lines
    }

    /// The diagram as an SVG document.
    package var svg: String { BoxPicture(BoxLayout(self, columns: 110) { $0.count }).svg }
}
