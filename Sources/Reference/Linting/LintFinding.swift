/// An error in a script, or a very probable one.
package struct LintFinding: Sendable, Hashable {
    /// The kind of error.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        /// An error of the compiler.
        case syntaxError = "syntax_error"
        /// A global that is never assigned.
        case unknownGlobal = "unknown_global"
        /// A function, a method or a member that its receiver does not have.
        case unknownName = "unknown_name"
        /// A method that is called with a dot.
        case missingColon = "missing_colon"
        /// An unknown key in a table of options.
        case unknownOption = "unknown_option"
        /// A class that the schema does not have.
        case unknownClass = "unknown_class"
        /// A property that the class does not have.
        case unknownProperty = "unknown_property"
        /// An invalid predicate or key path.
        case invalidQuery = "invalid_query"
        /// A schema with contradictions.
        case invalidSchema = "invalid_schema"
    }

    /// The line, starting at 1.
    package let line: Int
    /// The column in characters, starting at 1.
    package let column: Int
    /// The kind of error.
    package let rule: Rule
    /// A message of one sentence, with the most similar name if a name is unknown.
    package let message: String
}

/// Converts offsets in a source to lines and columns.
struct SourceLines {
    private let bytes: [UInt8]
    private let starts: [Int]

    init(_ source: String) {
        let bytes = Array(source.utf8)
        self.bytes = bytes
        starts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
    }

    /// Returns the line and the column of a UTF-8 offset.
    func location(of offset: Int) -> (line: Int, column: Int) {
        let offset = min(max(offset, 0), bytes.count)
        var (low, high) = (0, starts.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= offset { low = middle } else { high = middle - 1 }
        }
        let characters = bytes[starts[low]..<offset].count { $0 & 0xC0 != 0x80 }
        return (low + 1, characters + 1)
    }

    /// Returns the bytes of a line, counted from 1.
    func range(ofLine line: Int) -> Range<Int>? {
        guard starts.indices.contains(line - 1) else { return nil }
        let end = starts.indices.contains(line) ? starts[line] : bytes.count
        return starts[line - 1]..<end
    }
}
