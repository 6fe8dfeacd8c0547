import DataFormats
import Reference

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
