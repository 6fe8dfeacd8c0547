/// An error in a text, with its location.
package struct FormatError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The file, if it is known.
    package private(set) var file: String?
    /// The line, from 1; nil if the text has no lines.
    package var line: Int?
    /// The column in the line, from 1; nil if it is not known.
    package var column: Int?
    /// A description of the error, with a fix.
    package var reason: String

    /// An error at a line.
    package init(line: Int? = nil, column: Int? = nil, _ reason: String) {
        self.line = line
        self.column = column
        self.reason = reason
    }

    /// File, line, column and reason: `dogs.csv, line 3, column 7: a quoted field has no closing quote`.
    package var description: String {
        guard let line else {
            // System errors already contain the path.
            return file.map { reason.contains($0) ? reason : "\($0): \(reason)" } ?? reason
        }
        let place = "line \(line)" + (column.map { ", column \($0)" } ?? "")
        return (file.map { "\($0), " } ?? "") + "\(place): \(reason)"
    }

    /// Returns the same error in a file.
    ///
    /// `-`, which is standard input, has no name.
    package func inFile(_ path: String) -> FormatError {
        var placed = self
        placed.file = path == "-" ? nil : path
        return placed
    }
}
