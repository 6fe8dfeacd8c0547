/// A node of a tape, for code that reads trees.
package struct JSONNode {
    /// The tape that it is on.
    package let tape: JSONTape
    /// Where it begins.
    package let index: Int

    /// The node at an index; the whole row at 0.
    package init(_ tape: JSONTape, _ index: Int = 0) {
        self.tape = tape
        self.index = index
    }

    /// What it is.
    package var kind: JSONTape.Kind { tape.kind(index) }
    /// The text of a string or of a number that is no `int`.
    package var text: String { tape.text(index) }

    /// The members of an object; nothing for any other node.
    package func forEachMember(_ body: (String, JSONNode) throws -> Void) rethrows {
        guard kind == .object else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            let value = JSONNode(tape, position + 1)
            try body(tape.text(position), value)
            position = tape.after(position + 1)
        }
    }

    /// The elements of a list; nothing for any other node.
    package func forEachElement(_ body: (JSONNode) throws -> Void) rethrows {
        guard kind == .array else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            try body(JSONNode(tape, position))
            position = tape.after(position)
        }
    }

    /// The value of an object's only member, if that has this name.
    package func only(_ name: String) -> JSONNode? {
        guard kind == .object, tape.kind(index + 1) == .string, tape.text(index + 1) == name,
            tape.kind(tape.after(index + 2)) == .end
        else { return nil }
        return JSONNode(tape, index + 2)
    }

    /// What it is, for messages.
    package var description: String {
        switch kind {
        case .null: "null"
        case .truth: "true"
        case .falsehood: "false"
        case .int: String(tape.int(index))
        case .real: text
        case .string: "\"\(text.prefix(40))\""
        case .array: "a list"
        case .object: "an object"
        case .end: "an end"
        }
    }
}
