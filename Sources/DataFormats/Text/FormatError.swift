/// What is wrong with a text, and where.
package struct FormatError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The file that the line is of, where that is known.
    package private(set) var file: String?
    /// The line, from 1 on; nil where a text has no lines.
    package var line: Int?
    /// What is wrong.
    package var reason: String

    /// An error at a line.
    package init(line: Int? = nil, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    /// File, line and reason: `dogs.csv, line 3: a quoted field has no closing quote`.
    package var description: String {
        guard let line else { return reason }
        return (file.map { "\($0), " } ?? "") + "line \(line): \(reason)"
    }

    /// The same error in a file; `-`, which is standard input, has no name.
    package func inFile(_ path: String) -> FormatError {
        var placed = self
        placed.file = path == "-" ? nil : path
        return placed
    }
}
