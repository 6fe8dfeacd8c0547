import DataFormats
import LineEditing
import LuaHost
import ObjectStore
import Reference
import ScriptHost
import StoreBindings

/// Writes a value in one of the machine-readable modes, completely and without limits.
///
/// Thread: the script's thread. Ctrl-C can stop it between two rows. As in an export, the value of a link is the key of
/// the linked object.
struct ModeWriter {
    private let mode: OutputMode
    private let context: ScriptContext
    private let endOfLine: String?
    private let write: (String) -> Void

    /// Creates a writer; `endOfLine` replaces the line ending of the format, because CSV uses a different one than the
    /// terminal.
    init(
        _ mode: OutputMode, _ context: ScriptContext, endOfLine: String?,
        write: @escaping (String) -> Void
    ) {
        self.mode = mode
        self.context = context
        self.endOfLine = endOfLine
        self.write = write
    }

    private struct Elements {
        var count: Int
        var at: (Int) throws -> LuaValue
        /// Whether all objects have the same columns.
        var isOfOneClass: Bool
    }

    /// Writes a value; returns false, and writes nothing, if the format cannot represent the value.
    func write(_ value: LuaValue) throws -> Bool {
        guard let elements = try elements(of: value) else {
            guard let bytes = try encoded(value) else { return false }
            let row = JSONRow(bytes)
            switch mode {
            case .table: return false
            case .json, .jsonl: write(row.text + "\n")
            case .lua: write(LuaRow.text(of: row) + "\n")
            case .line: writeLines(row)
            case .csv, .markdown:
                writeRows(columns: row.names.isEmpty ? ["value"] : row.names) { emit in emit(row) }
            }
            return true
        }
        if elements.count > 0, try encoded(elements.at(0)) == nil { return false }
        switch mode {
        case .table: return false
        case .jsonl: try forEach(elements) { write($0.text + "\n") }
        case .json: try list(elements, open: "[", close: "]") { $0.text }
        case .lua: try list(elements, open: "{", close: "}", LuaRow.text)
        case .line:
            var isFirst = true
            try forEach(elements) { row in
                if !isFirst { write("\n") }
                isFirst = false
                writeLines(row)
            }
        case .csv, .markdown:
            let columns = try columns(of: elements)
            try writeRows(columns: columns) { emit in try forEach(elements, emit) }
        }
        return true
    }

    // MARK: - Elements

    /// Returns the elements of a value; nil for a single value.
    private func elements(of value: LuaValue) throws -> Elements? {
        let state = context.state
        let inspected = context.storeModule.inspect(value)
        if case .collection(let map)? = inspected, map.property.isMap { return nil }
        switch inspected {
        case .results, .collection, .values, .projectedResults:
            let count = Int(clamping: try state.length(of: value) ?? 0)
            return Elements(
                count: count, at: { try state.index(value, .integer(Int64($0 + 1))) },
                isOfOneClass: true)
        default:
            guard case .table(let table) = value, table.count > 0,
                table.count == table.pairs.count
            else { return nil }
            return Elements(count: table.count, at: { table[$0 + 1] }, isOfOneClass: false)
        }
    }

    /// Returns a value as JSON; nil for values that JSON cannot represent.
    private func encoded(_ value: LuaValue) throws -> [UInt8]? {
        do {
            return try context.storeModule.json(of: value)
        } catch let error as StoreError where error.code == .invalidArgument {
            return nil
        }
    }

    private func forEach(_ elements: Elements, _ body: (JSONRow) -> Void) throws {
        for position in 0..<elements.count {
            try context.state.checkStopping()
            body(JSONRow(try encoded(elements.at(position)) ?? Array("null".utf8)))
        }
    }

    private func list(
        _ elements: Elements, open: String, close: String, _ text: (JSONRow) -> String
    ) throws {
        guard elements.count > 0 else { return write(open + close + "\n") }
        write(open + "\n")
        var rest = elements.count
        try forEach(elements) { row in
            rest -= 1
            write("  \(text(row))\(rest > 0 ? "," : "")\n")
        }
        write(close + "\n")
    }

    // MARK: - Rows

    private func columns(of elements: Elements) throws -> [String] {
        var columns: [String] = []
        var seen: Set<String> = []
        for position in 0..<(elements.isOfOneClass ? min(1, elements.count) : elements.count) {
            try context.state.checkStopping()
            guard let bytes = try encoded(elements.at(position)) else { continue }
            for name in JSONRow(bytes).names where seen.insert(name).inserted {
                columns.append(name)
            }
        }
        return columns.isEmpty ? ["value"] : columns
    }

    private func writeRows(
        columns: [String], _ rows: ((JSONRow) -> Void) throws -> Void
    ) rethrows {
        guard mode == .csv else {
            write(Self.markdown(columns))
            write(Self.markdown(columns.map { _ in "---" }))
            return try rows { row in
                write(Self.markdown(columns.map { Self.escaped(row.cell($0) ?? "") }))
            }
        }
        writeRecord(columns)
        try rows { row in writeRecord(columns.map(row.cell)) }
    }

    private func writeRecord(_ fields: [String?]) {
        var csv = CSVWriter()
        for field in fields { csv.field(field) }
        csv.endRecord()
        var bytes = csv.bytes
        if let endOfLine {
            bytes.removeLast(2)
            bytes += Array(endOfLine.utf8)
        }
        write(String(decoding: bytes, as: UTF8.self))
    }

    /// Writes each property as a line `name = value`, with the equal signs aligned.
    private func writeLines(_ row: JSONRow) {
        guard !row.names.isEmpty else { return write("value = \(row.cell("value") ?? "nil")\n") }
        let width = row.names.map { TerminalText.width($0) }.max() ?? 0
        for name in row.names {
            let padding = String(repeating: " ", count: width - TerminalText.width(name))
            write("\(padding)\(name) = \(row.cell(name) ?? "nil")\n")
        }
    }

    private static func markdown(_ cells: [String]) -> String {
        "| \(cells.joined(separator: " | ")) |\n"
    }

    private static func escaped(_ cell: String) -> String {
        cell.replacing("\\", with: "\\\\").replacing("|", with: "\\|")
            .replacing("\r\n", with: "<br>").replacing("\n", with: "<br>")
    }
}

/// The format of results.
enum OutputMode: String, CaseIterable, Sendable {
    /// Tables of objects that fit the window.
    case table
    /// One JSON value, with each row on its own line.
    case json
    /// One line of JSON for each row.
    case jsonl
    /// A header and a record for each row.
    case csv
    /// A line for each property, with an empty line between rows.
    case line
    /// A Lua table constructor.
    case lua
    /// A Markdown table.
    case markdown
}

/// A row in JSON, for output formats that are not JSON.
struct JSONRow {
    /// The JSON.
    let text: String
    /// The names of its members; empty for a value that is not an object.
    private(set) var names: [String] = []
    private var cells: [String: String] = [:]
    private var value: String?

    /// Parses JSON from the program's own writer.
    init(_ bytes: [UInt8]) {
        text = String(decoding: bytes, as: UTF8.self)
        var names: [String] = []
        var cells: [String: String] = [:]
        var value: String?
        Self.read(bytes) { node in
            if node.kind == .object {
                node.forEachMember { name, member in
                    names.append(name)
                    cells[name] = Self.cell(member)
                }
            } else {
                value = Self.cell(node)
            }
        }
        (self.names, self.cells, self.value) = (names, cells, value)
    }

    /// The value in a column; nil if it is missing.
    ///
    /// A row without names has one column.
    func cell(_ column: String) -> String? { names.isEmpty ? value : cells[column] }

    /// Parses JSON and passes its root node to the body.
    static func read(_ bytes: [UInt8], _ body: (JSONNode) -> Void) {
        let tape = JSONTape()
        // The program's own writer produced the JSON, so it is valid.
        guard (try? JSONText.read(bytes, onto: tape)) != nil else { return }
        body(JSONNode(tape))
    }

    private static func cell(_ node: JSONNode) -> String? {
        switch node.kind {
        case .null, .end: return nil
        case .truth: return "true"
        case .falsehood: return "false"
        case .int: return String(node.tape.int(node.index))
        case .real, .string: return node.text
        case .array, .object:
            var writer = JSONWriter()
            node.write(to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}

/// Converts JSON to Lua literals.
enum LuaRow {
    /// Returns a row as a Lua literal on one line.
    static func text(of row: JSONRow) -> String {
        var text = "nil"
        JSONRow.read(Array(row.text.utf8)) { text = Self.text(of: $0) }
        return text
    }

    private static func text(of node: JSONNode) -> String {
        switch node.kind {
        case .null, .end: return "nil"
        case .truth: return "true"
        case .falsehood: return "false"
        case .int: return String(node.tape.int(node.index))
        case .real: return node.text
        case .string: return LuaLiteral.string(node.text)
        case .array:
            var parts: [String] = []
            node.forEachElement { parts.append(text(of: $0)) }
            return parts.isEmpty ? "{}" : "{ \(parts.joined(separator: ", ")) }"
        case .object:
            var parts: [String] = []
            node.forEachMember { name, member in
                parts.append("\(LuaLiteral.key(name)) = \(text(of: member))")
            }
            return parts.isEmpty ? "{}" : "{ \(parts.joined(separator: ", ")) }"
        }
    }
}
