/// The table constructor in the last statement of a Lua source, `return { … }`, without running the source.
package struct ReturnedTable {
    /// A field with a name, and the bytes of its value.
    package struct Field {
        /// The name.
        package let name: String
        /// The bytes of the value.
        package let value: Range<Int>
    }

    /// The offset behind the opening brace.
    package let start: Int
    /// The fields that have names.
    package let fields: [Field]

    /// Reads a source; nil if it returns something else.
    package init?(of source: String) {
        guard case .results(let results)? = SourceParser.parse(source).last,
            case .table(let found, let open)? = results.first
        else { return nil }
        start = open.range.upperBound
        fields = found.compactMap { field in
            let name = field.name?.text ?? field.key.flatMap(SourceText.content)?.text
            return name.map { Field(name: $0, value: field.range) }
        }
    }

    /// Returns the source with another value of a field, which is inserted as the first one if it is missing.
    ///
    /// Returns nil for a source that does not return a table constructor.
    package static func setting(_ name: String, in source: String, to value: String) -> String? {
        guard let table = ReturnedTable(of: source) else { return nil }
        let bytes = Array(source.utf8)
        func text(_ part: ArraySlice<UInt8>) -> String { String(decoding: part, as: UTF8.self) }
        if let range = table.fields.last(where: { $0.name == name })?.value {
            return text(bytes[..<range.lowerBound]) + value + text(bytes[range.upperBound...])
        }
        let rest = bytes[table.start...]
        return text(bytes[..<table.start]) + "\n  \(name) = \(value),"
            + (rest.first == UInt8(ascii: " ") ? "\n " : "") + text(rest)
    }
}
