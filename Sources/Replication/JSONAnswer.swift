import DataFormats

/// A reply of the server.
package struct JSONAnswer {
    private let tape = JSONTape()

    package init(_ bytes: [UInt8]) throws { try JSONText.read(bytes, onto: tape) }

    private func node(_ path: [String]) -> JSONNode? {
        var node = JSONNode(tape)
        for name in path {
            var found: JSONNode?
            guard node.kind == .object else { return nil }
            node.forEachMember { if $0 == name { found = $1 } }
            guard let found else { return nil }
            node = found
        }
        return node
    }

    package func number(_ path: String...) -> UInt64 {
        guard let node = node(path), node.kind == .int else { return 0 }
        return UInt64(clamping: node.tape.int(node.index))
    }

    /// The names of the members of an object.
    package func names(_ path: String...) -> [String] {
        var names: [String] = []
        if let node = node(path), node.kind == .object {
            node.forEachMember { name, _ in names.append(name) }
        }
        return names
    }

    package func flag(_ path: String...) -> Bool { node(path)?.kind == .truth }

    package func text(_ path: String...) -> String {
        guard let node = node(path), node.kind == .string else { return "" }
        return node.text
    }

    package var hasError: Bool { node(["error"]) != nil }
}
