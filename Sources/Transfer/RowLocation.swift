import DataFormats
import ObjectStore

/// The location of a row in its file, for messages.
struct RowLocation {
    /// The table in a database; nil for a file of lines.
    var table: String?
    /// The line in a file; for a database, the rowid of the row, or its number if it has no rowid.
    var line: Int

    /// The location as text: `line 3`, or `dogs, row 3`.
    var description: String { table.map { "\($0), row \(line)" } ?? "line \(line)" }

    /// Returns an error at this row.
    func fault(_ reason: String) -> FormatError {
        table == nil ? FormatError(line: line, reason) : FormatError("\(description): \(reason)")
    }

    /// Returns an error of this row with its location.
    func fault(_ error: any Error, _ locator: (any RowLocator)?) -> FormatError {
        switch error {
        case let error as FormatError where error.line != nil: return error
        case let error as FormatError: return fault(error.reason)
        case let error as ValueFault:
            var placed = fault(error.underlying, locator)
            guard table == nil, placed.column == nil else { return placed }
            switch error.location {
            case .field(let number): placed.column = number
            case .offset(let offset):
                guard let location = locator?.location(offset) else { break }
                placed.line = location.line
                placed.column = location.column
            }
            return placed
        case let error as StoreError: return fault(error.message)
        default: return fault("\(error)")
        }
    }
}

/// An error in one value of a row.
struct ValueFault: Error {
    enum Location {
        /// The number of the field in its record, starting at 1.
        case field(Int)
        /// The offset in the bytes of the row.
        case offset(Int)
    }

    let location: Location
    let underlying: any Error
}

/// Finds the line and column of an offset in the current row.
protocol RowLocator: AnyObject {
    func location(_ offset: Int) -> (line: Int, column: Int)
}

extension JSONRowReader: RowLocator {}
extension JSONLineReader: RowLocator {}
