import Charts
import LineEditing

/// Terminal text with its colors, as an SVG or HTML document.
///
///     let picture = TerminalPicture(text: "\u{1B}[32m1\u{1B}[0m object\n", columns: 80)
///     picture.document(.svg)
struct TerminalPicture {
    private struct Appearance: Equatable {
        var color: String?
        var isBold = false
        var isDim = false
        var isStruck = false
    }

    private struct Run {
        var text: String
        var appearance: Appearance
        /// The column of the first character, starting at 0.
        var column: Int
        var width: Int
    }

    private let lines: [[Run]]
    private let columns: Int

    private static let background = "#0d1117"
    private static let foreground = "#e6edf3"
    private static let colors: [Int: String] = [
        31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#56d4dd",
        90: "#8b949e", 91: "#ffa198", 92: "#aff5b4", 93: "#f8e3a1", 94: "#a5d6ff", 95: "#e2c5ff",
        96: "#b3f0ff",
    ]
    private static let cell = (width: 8.4, height: 19.0)
    private static let margin = 18.0

    /// Parses text with SGR sequences; the picture is as wide as the longest line, at most about `columns`.
    init(text: String, columns: Int) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            Self.runs(of: $0)
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        let widest = lines.map { $0.last.map { $0.column + $0.width } ?? 0 }.max() ?? 0
        self.columns = max(min(columns, 40), widest)
    }

    /// Returns the picture in a format.
    func document(_ format: PictureFormat) -> String { format == .svg ? svg : html }

    private static func runs(of line: Substring) -> [Run] {
        var runs: [Run] = []
        var appearance = Appearance()
        var text = ""
        var column = 0
        func flush() {
            guard !text.isEmpty else { return }
            let width = TerminalText.width(text)
            runs.append(Run(text: text, appearance: appearance, column: column, width: width))
            column += width
            text = ""
        }
        var scalars = line.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "\u{1B}":
                guard scalars.next() == "[" else { continue }
                var parameters = ""
                var final: Unicode.Scalar?
                while let next = scalars.next() {
                    if (0x40...0x7E).contains(next.value) {
                        final = next
                        break
                    }
                    parameters.unicodeScalars.append(next)
                }
                if final == "m" {
                    flush()
                    apply(parameters, to: &appearance)
                }
            case "\t":
                repeat { text.append(" ") } while (column + TerminalText.width(text)) % 8 != 0
            case "\r": continue
            default: text.unicodeScalars.append(scalar)
            }
        }
        flush()
        return runs
    }

    private static func apply(_ parameters: String, to appearance: inout Appearance) {
        let numbers = parameters.split(separator: ";", omittingEmptySubsequences: false).map {
            Int($0) ?? 0
        }
        for number in numbers {
            switch number {
            case 0: appearance = Appearance()
            case 1: appearance.isBold = true
            case 2: appearance.isDim = true
            case 9: appearance.isStruck = true
            case 22: (appearance.isBold, appearance.isDim) = (false, false)
            case 29: appearance.isStruck = false
            case 39: appearance.color = nil
            default: appearance.color = colors[number] ?? appearance.color
            }
        }
    }

    // MARK: - Documents

    private var svg: String {
        let width = Double(columns) * Self.cell.width + 2 * Self.margin
        let height = Double(max(1, lines.count)) * Self.cell.height + 2 * Self.margin
        func number(_ value: Double) -> String { SVGDocument.number(value) }
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(number(width))" height="\(number(height))" \
            viewBox="0 0 \(number(width)) \(number(height))" font-family="ui-monospace, 'DejaVu Sans Mono', \
            Menlo, Consolas, monospace" font-size="14">
            <rect width="100%" height="100%" rx="8" fill="\(Self.background)"/>

            """
        for (index, line) in lines.enumerated() {
            let y = number(Self.margin + Double(index) * Self.cell.height + 14)
            for run in line where run.text.contains(where: { $0 != " " }) || run.appearance.isStruck
            {
                let x = number(Self.margin + Double(run.column) * Self.cell.width)
                // The length keeps columns aligned in fonts that lack some of the characters.
                let length = number(Double(run.width) * Self.cell.width)
                text += "<text x=\"\(x)\" y=\"\(y)\" textLength=\"\(length)\""
                text += " lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\""
                text += " fill=\"\(run.appearance.color ?? Self.foreground)\""
                if run.appearance.isBold { text += " font-weight=\"700\"" }
                if run.appearance.isDim { text += " opacity=\"0.6\"" }
                if run.appearance.isStruck { text += " text-decoration=\"line-through\"" }
                text += ">\(MarkupText.escaped(run.text))</text>\n"
            }
        }
        return text + "</svg>\n"
    }

    private var html: String {
        var body = ""
        for line in lines {
            for run in line {
                var style: [String] = []
                if let color = run.appearance.color { style.append("color:\(color)") }
                if run.appearance.isBold { style.append("font-weight:700") }
                if run.appearance.isDim { style.append("opacity:.6") }
                if run.appearance.isStruck { style.append("text-decoration:line-through") }
                let text = MarkupText.escaped(run.text)
                body +=
                    style.isEmpty
                    ? text : "<span style=\"\(style.joined(separator: ";"))\">\(text)</span>"
            }
            body += "\n"
        }
        return Self.page(
            "<pre style=\"margin:0;padding:18px;border-radius:8px;overflow-x:auto;line-height:1.35;"
                + "background:\(Self.background);color:\(Self.foreground);"
                + "font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\">\(body)</pre>"
        )
    }

    /// Returns an HTML document with this content.
    static func page(_ content: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>Moonpool</title></head>
        <body>
        \(content)
        </body>
        </html>

        """
    }
}

/// The formats of pictures, by the extension of the file name.
enum PictureFormat: String, Sendable {
    case svg
    case html

    /// Returns the format of a file; nil for other files.
    init?(path: String) {
        let name = path.lowercased()
        guard
            let format = [PictureFormat.svg, .html].first(where: {
                name.hasSuffix(".\($0.rawValue)")
            })
        else { return nil }
        self = format
    }
}
