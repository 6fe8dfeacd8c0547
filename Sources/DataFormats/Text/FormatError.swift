/// An error in a text, with its location.
package struct FormatError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The file, if it is known.
    package private(set) var file: String?
    /// The line, starting at 1; nil if the text has no lines.
    package var line: Int?
    /// The column in the line, starting at 1; nil if it is unknown.
    package var column: Int?
    /// A description of the error, with a suggested fix.
    package var reason: String

    /// Creates an error at a line.
    package init(line: Int? = nil, column: Int? = nil, _ reason: String) {
        self.line = line
        self.column = column
        self.reason = reason
    }

    /// The file, line, column and reason: `dogs.csv, line 3, column 7: a quoted field has no closing quote`.
    package var description: String {
        guard let line else {
            // System errors already contain the path.
            return file.map { reason.contains($0) ? reason : "\($0): \(reason)" } ?? reason
        }
        let position = "line \(line)" + (column.map { ", column \($0)" } ?? "")
        return (file.map { "\($0), " } ?? "") + "\(position): \(reason)"
    }

    /// Returns the same error with the path of a file.
    ///
    /// Standard input, `-`, has no path.
    package func inFile(_ path: String) -> FormatError {
        var placed = self
        placed.file = path == "-" ? nil : path
        return placed
    }
}
