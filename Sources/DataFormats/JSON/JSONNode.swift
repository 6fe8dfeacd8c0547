/// A node on a tape, for code that traverses values as trees.
package struct JSONNode {
    /// The tape that contains the node.
    package let tape: JSONTape
    /// The index of the first token of the node.
    package let index: Int

    /// Creates the node at an index; the index 0 is the whole value.
    package init(_ tape: JSONTape, _ index: Int = 0) {
        self.tape = tape
        self.index = index
    }

    /// The kind of the node.
    package var kind: JSONTape.Kind { tape.kind(index) }
    /// The text of a string, or of a number that is not an `int`.
    package var text: String { tape.text(index) }

    /// Calls `body` with the members of an object; does nothing for any other node.
    package func forEachMember(_ body: (String, JSONNode) throws -> Void) rethrows {
        guard kind == .object else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            let value = JSONNode(tape, position + 1)
            try body(tape.text(position), value)
            position = tape.after(position + 1)
        }
    }

    /// Calls `body` with the elements of a list; does nothing for any other node.
    package func forEachElement(_ body: (JSONNode) throws -> Void) rethrows {
        guard kind == .array else { return }
        var position = index + 1
        while tape.kind(position) != .end {
            try body(JSONNode(tape, position))
            position = tape.after(position)
        }
    }

    /// Whether the node is an object, or a list without elements: in Lua, an empty object and an empty list look the same.
    package var mayBeObject: Bool {
        kind == .object || kind == .array && tape.kind(index + 1) == .end
    }

    /// Returns the value of an object's only member if it has this name.
    package func only(_ name: String) -> JSONNode? {
        guard kind == .object, tape.kind(index + 1) == .string, tape.text(index + 1) == name,
            tape.kind(tape.after(index + 2)) == .end
        else { return nil }
        return JSONNode(tape, index + 2)
    }

    /// A short description for messages.
    package var description: String {
        switch kind {
        case .null: "null"
        case .truth: "true"
        case .falsehood: "false"
        case .int: String(tape.int(index))
        case .real: text
        case .string: text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .array: "a list"
        case .object: "an object"
        case .end: "an end"
        }
    }
}

extension JSONNode {
    /// Writes the node as JSON, with numbers as they were read.
    package func write(to json: inout JSONWriter) {
        switch kind {
        case .null, .end: json.null()
        case .truth: json.bool(true)
        case .falsehood: json.bool(false)
        case .int: json.int(tape.int(index))
        case .real:
            // Values of Lua source such as infinity are numbers that JSON represents as text.
            let isFinite = text.utf8.last.map { $0 &- 0x30 < 10 } ?? false
            if isFinite { json.number(text) } else { json.double(Double(text) ?? .nan) }
        case .string: json.string(text)
        case .array:
            json.beginArray()
            forEachElement { $0.write(to: &json) }
            json.endArray()
        case .object:
            json.beginObject()
            forEachMember { name, member in
                json.key(name)
                member.write(to: &json)
            }
            json.endObject()
        }
    }
}
