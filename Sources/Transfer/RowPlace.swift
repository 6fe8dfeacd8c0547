import DataFormats

/// Where a row stands, for reports about it.
struct RowPlace {
    /// The table, in a database; nil in a file of lines.
    var table: String?
    /// The line of a file; in a database the row's rowid, or its position where it has none.
    var line: Int

    /// `line 3`, or `dogs, row 3`.
    var description: String { table.map { "\($0), row \(line)" } ?? "line \(line)" }

    /// An error at this place.
    func fault(_ reason: String) -> FormatError {
        table == nil ? FormatError(line: line, reason) : FormatError("\(description): \(reason)")
    }
}
