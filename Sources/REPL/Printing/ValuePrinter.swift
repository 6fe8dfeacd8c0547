import Charts
import LineEditing
import LuaHost

/// The text of a property or an element.
struct Field {
    /// The name of the property; nil for an element of a collection.
    var name: String?
    var text: String
    var role: Style.Role

    init(_ name: String?, _ text: String, _ role: Style.Role) {
        self.name = name
        self.text = text
        self.role = role
    }
}

/// The description of a store's value for the printer.
enum Described {
    /// A text that is printed unchanged.
    case text(String)
    /// An object: its class and its properties.
    case record(name: String, fields: [Field], remark: String?)
    /// A table of objects: Results, or a list of objects.
    case grid(Grid)
    /// A plot or a histogram.
    case chart(Chart)
    /// The printed elements of a list or set of values, or of a map, and the total number of elements.
    case sequence(name: String, items: [Field], count: Int)
}

/// Prints any Lua value as text: nested tables with sorted keys and limits, objects, Results.
///
/// Reads tables without metamethods. The only code of a script that it calls is `__tostring`, whose errors it catches.
/// Thread: the script's thread.
struct ValuePrinter {
    let state: LuaState
    var limits: PrintLimits
    var style: Style
    /// Describes a value of a store; returns nil for other values.
    var describe: (_ value: LuaValue, _ limits: PrintLimits) -> Described?
    /// Returns the source location of a function; nil if it is unknown.
    var location: (LuaFunction) -> String? = { _ in nil }

    /// A text after the number of omitted rows that says how to show them.
    var remedy = ""

    /// The omitted parts of a printed value, and the remaining limit.
    final class Report {
        /// Whether `.last` would show more.
        var isShortened = false
        /// The remaining number of bytes; limits tables that contain the same table repeatedly.
        var bytes: Int

        init(bytes: Int) { self.bytes = bytes }
    }

    /// Returns the text of a value, and whether parts were omitted.
    func print(_ value: LuaValue) -> (text: String, isShortened: Bool) {
        let report = Report(bytes: limits.bytes)
        if case .string(let string) = value,
            let text = ValueText.longBracket(string, limit: limits.string)
        {
            return (style.paint(text, .string), false)
        }
        let layout = layout(value, depth: 0, path: [], report)
        return (layout.render(width: max(limits.columns, 20)), report.isShortened)
    }

    private func piece(_ text: String, _ role: Style.Role = .plain) -> Piece {
        Piece(text, role, style)
    }

    /// Returns the result of `tostring`; if a script's `__tostring` fails, returns its error message.
    private func text(of value: LuaValue, _ report: Report) -> String {
        guard report.bytes > 0 else {
            report.isShortened = true
            return value.typeName
        }
        do {
            let text = try state.describe(value).description
            report.bytes -= text.utf8.count
            return text
        } catch {
            return "<\(value.typeName): \(error.message)>"
        }
    }

    private func layout(_ value: LuaValue, depth: Int, path: [LuaTable], _ report: Report) -> Layout
    {
        report.bytes -= 16
        return switch value {
        case .nil: .piece(piece("nil", .word))
        case .boolean(let flag): .piece(piece(flag ? "true" : "false", .word))
        case .integer, .number: .piece(piece(text(of: value, report), .number))
        case .string(let string): string_(string, report)
        case .table(let table): self.table(table, depth: depth, path: path, report)
        case .function(let function): .piece(piece(name(of: function), .type))
        case .thread(let thread): .piece(piece("coroutine (\(thread.status))", .type))
        case .userdata: userdata(value, depth: depth, path: path, report)
        }
    }

    private func string_(_ string: LuaString, _ report: Report) -> Layout {
        let (text, hidden) = ValueText.quoted(
            string.bytes, limit: min(limits.string, max(report.bytes, 0)))
        report.bytes -= text.utf8.count
        guard hidden > 0 else { return .piece(piece(text, .string)) }
        report.isShortened = true
        var piece = piece(text, .string)
        let remark = self.piece(" … \(ValueText.count(hidden)) more bytes", .dim)
        piece.text += remark.text
        piece.width += remark.width
        return .piece(piece)
    }

    private func name(of function: LuaFunction) -> String {
        if let location = location(function) { return "function (\(location))" }
        return "function"
    }

    private func userdata(_ value: LuaValue, depth: Int, path: [LuaTable], _ report: Report)
        -> Layout
    {
        var limits = limits
        if depth >= limits.depth || report.bytes <= 0 { limits.rows = 1 }
        limits.string = min(limits.string, max(report.bytes, 0))
        let described = describe(value, limits)
        if case .record(_, let fields, _) = described {
            report.bytes -= fields.reduce(0) { $0 + $1.text.utf8.count + 16 }
        }
        switch described {
        case nil: return .piece(piece(text(of: value, report), .type))
        case .text(let text): return .piece(piece(text, .type))
        case .record(let name, let fields, let remark):
            guard depth < limits.depth else {
                report.isShortened = true
                return .piece(piece("\(name) { … }", .type))
            }
            return .group(
                open: piece(name + " {", .type),
                items: fields.map {
                    ($0.name.map(named), .piece(piece($0.text, $0.role)))
                },
                rest: remark.map { piece("… \($0)", .dim) }, close: piece("}", .type))
        case .sequence(let name, let items, let count):
            var rest: Piece?
            if count > items.count {
                report.isShortened = true
                rest = piece("… \(ValueText.count(count - items.count)) more", .dim)
            }
            return .group(
                open: piece(name + " {", .type),
                items: items.map { ($0.name.map(named), .piece(piece($0.text, $0.role))) },
                rest: rest, close: piece("}", .type))
        case .chart(let chart):
            guard depth == 0 else { return .piece(piece("chart", .type)) }
            return .block(lines(of: chart))
        case .grid(let grid):
            if grid.isShortened { report.isShortened = true }
            guard depth == 0 else { return .piece(piece(grid.title, .type)) }
            return .block(grid.render(width: limits.columns, style: style, remedy: remedy))
        }
    }

    private func table(_ table: LuaTable, depth: Int, path: [LuaTable], _ report: Report) -> Layout
    {
        if path.contains(table) { return .piece(piece("<cycle>", .dim)) }
        if let metatable = table.metatable, metatable["__tostring"] != .nil {
            if depth == 0, case .chart(let chart)? = describe(.table(table), limits) {
                return .block(lines(of: chart))
            }
            return .piece(piece(text(of: .table(table), report), .type))
        }
        if depth == 0, let grid = objectGrid(table) {
            if grid.isShortened { report.isShortened = true }
            return .block(grid.render(width: limits.columns, style: style, remedy: remedy))
        }
        var named: String?
        if let name = table.metatable?["__name"].text { named = name }
        // An item takes at least 16 bytes of the limit.
        let content = TableContent(table, limit: min(limits.items, max(report.bytes / 16, 0) + 1))
        guard content.count > 0 else {
            return .piece(piece(named.map { $0 + " {}" } ?? "{}"))
        }
        guard depth < limits.depth, report.bytes > 0 else {
            report.isShortened = true
            return .piece(piece("{ … \(ValueText.count(content.count, "item")) }", .dim))
        }
        let path = path + [table]
        var items: [(key: Piece?, value: Layout)] = []
        for index in 0..<content.elements where report.bytes > 0 {
            let key = LuaValue.integer(Int64(index + 1))
            items.append((nil, layout(of: table, key, depth: depth + 1, path: path, report)))
        }
        for key in content.fields where report.bytes > 0 {
            items.append(
                (
                    piece(self.key(key, report), .key),
                    layout(of: table, key, depth: depth + 1, path: path, report)
                ))
        }
        var rest: Piece?
        if content.count > items.count {
            report.isShortened = true
            rest = piece("… \(ValueText.count(content.count - items.count)) more", .dim)
        }
        return .group(
            open: piece(named.map { $0 + " {" } ?? "{"), items: items, rest: rest, close: piece("}")
        )
    }

    /// Returns the layout of the value of a key; of a long string that the script has no memory for, only its type.
    private func layout(
        of table: LuaTable, _ key: LuaValue, depth: Int, path: [LuaTable], _ report: Report
    ) -> Layout {
        // The value, its text, the printed text, and the line that contains it.
        guard let value = try? table.raw(key, copies: 4) else {
            report.isShortened = true
            return .piece(piece("string …", .type))
        }
        return layout(value, depth: depth, path: path, report)
    }

    /// Returns a grid for an array of objects of one class, which is shown as Results are.
    private func objectGrid(_ table: LuaTable) -> Grid? {
        guard table.count > 0, table[1].userdata != nil, case .userdata = table[table.count] else {
            return nil
        }
        guard case .grid(let grid)? = describe(.table(table), limits) else { return nil }
        return grid
    }

    private static let maxChartRows = 20

    private func lines(of chart: Chart) -> [String] {
        chart.lines(
            style.chart(
                columns: min(max(limits.columns - 1, 20), 200),
                rows: min(limits.rows, Self.maxChartRows)))
    }

    private func named(_ name: String) -> Piece { piece(ValueText.key(LuaString(name)), .key) }

    private func key(_ key: LuaValue, _ report: Report) -> String {
        if case .string(let string) = key { return ValueText.key(string) }
        if case .table(let table) = key {
            return table.metatable?["__tostring"] == .nil
                ? "[table]" : "[\(text(of: key, report))]"
        }
        return "[\(text(of: key, report))]"
    }
}

/// A table's items in display order: the array part, then the other keys, sorted.
struct TableContent {
    /// The number of printed values of the keys 1, 2, ….
    let elements: Int
    /// The other printed keys.
    private(set) var fields: [LuaValue] = []
    /// The total number of items.
    private(set) var count: Int

    init(_ table: LuaTable, limit: Int) {
        let length = table.count
        elements = min(length, limit)
        count = length
        // The hash part of a large array is not searched for keys.
        if length > 100_000 { return }
        let free = limit - elements
        var minimum: [LuaValue] = []
        var others = 0
        table.forEachKey { key in
            if case .integer(let number) = key, number >= 1, number <= Int64(length) { return }
            others += 1
            guard free > 0 else { return }
            minimum.append(key)
            // The list has at most a few times the number of shown keys, even for a large table.
            if minimum.count > 4 * free + 1000 { minimum = Self.sorted(minimum, limit: free) }
        }
        count += others
        fields = Self.sorted(minimum, limit: free)
    }

    private static func sorted(_ keys: [LuaValue], limit: Int) -> [LuaValue] {
        Array(
            keys.map { (key: $0, order: order($0)) }.sorted { $0.order < $1.order }
                .prefix(limit).map(\.key))
    }

    private struct Order: Comparable {
        var kind: Int
        var number: Double
        var text: String
        static func < (a: Order, b: Order) -> Bool {
            (a.kind, a.number, a.text) < (b.kind, b.number, b.text)
        }
    }

    private static func order(_ key: LuaValue) -> Order {
        switch key {
        case .integer(let value): Order(kind: 0, number: Double(value), text: "")
        case .number(let value): Order(kind: 0, number: value, text: "")
        case .string(let value): Order(kind: 1, number: 0, text: value.description)
        case .boolean(let value): Order(kind: 2, number: value ? 1 : 0, text: "")
        default: Order(kind: 3, number: 0, text: key.typeName)
        }
    }
}

/// Limits on the printed text of a value.
package struct PrintLimits: Sendable, Equatable {
    /// The maximum depth of nested tables.
    package var depth: Int
    /// The maximum number of items of one table.
    package var items: Int
    /// The maximum number of characters of one string.
    package var string: Int
    /// The maximum number of rows in a table of objects.
    package var rows: Int
    /// The width of the window, in columns.
    package var columns: Int
    /// The approximate maximum size of the text in bytes; limits tables that contain the same table repeatedly.
    package var bytes: Int

    /// Creates limits that fit into a window, for the first output of a value.
    package init(
        depth: Int = 6, items: Int = 60, string: Int = 400, rows: Int = 20, columns: Int = 80,
        bytes: Int = 256 << 10
    ) {
        self.depth = depth
        self.items = items
        self.string = string
        self.rows = rows
        self.columns = columns
        self.bytes = bytes
    }

    /// Returns much higher limits, for `.last`.
    package func generous() -> PrintLimits {
        PrintLimits(
            depth: 16, items: 10_000, string: 100_000, rows: 10_000, columns: columns,
            bytes: 8 << 20)
    }
}

/// The name of a numbered result, such as `_12`, at the right edge of the window.
enum ResultLabel {
    /// A sequence before each label, so that output to files can omit the label.
    ///
    /// It erases the rest of the line, which is empty.
    private static let erasing = "[K"

    /// Adds the label to the first line of a text that has space for it, or to the last one.
    static func adding(_ number: Int, to text: String, columns: Int, style: Style) -> String {
        let label = "_\(number)"
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for index in [0, lines.count - 1] {
            let width = TerminalText.width(TerminalText.plain(lines[index]))
            let padding = columns - 1 - label.count - width
            guard padding >= 2 else { continue }
            lines[index] +=
                "\(Style.mark)\(erasing)\(String(repeating: " ", count: padding))\(style.paint(label, .dim))"
            return lines.joined(separator: "\n")
        }
        return text
    }

    /// Returns a text without labels.
    static func removing(from text: String) -> String {
        let mark = "\u{1B}" + erasing
        guard text.contains(mark) else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.firstRange(of: mark).map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: "\n")
    }
}
