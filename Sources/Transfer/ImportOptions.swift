import DataFormats
import ObjectStore

/// How a file is imported into a store.
///
///     var options = ImportOptions()
///     options.className = "Dog"
///     options.isUpsert = true
package struct ImportOptions: Sendable {
    /// The class of all rows; nil if the file names it.
    package var className: String?
    /// For a database: import only these tables, or the tables of these classes; all if empty.
    package var tables: [String] = []
    /// For a database: the class of a table; an empty name leaves the table out.
    package var classNames: [String: String] = [:]
    /// For a database: how numbers in date columns are read.
    ///
    /// Nil follows SQLite: integers are seconds since 1970, other numbers are Julian days.
    package var dates: SQLiteDates?
    /// Update objects whose primary key exists, instead of throwing an error.
    package var isUpsert = false
    /// The property of a field of the file, for a database also as `table.column`; an empty name leaves the field out.
    package var names: [String: String] = [:]
    /// The file for invalid records, in the form of the input.
    ///
    /// Without it, the first invalid record ends the import.
    package var rejects: String?
    /// Commit every N rows; nil commits once at the end.
    package var batch: Int?
    /// Roll back at the end.
    package var isDryRun = false
    /// The dialect of a CSV file.
    package var csv = CSVFormat()
    /// Leave a property as it is where a CSV field is empty, instead of setting nil.
    package var keepsEmpty = false
    /// The types of fields of new classes, as in a schema: `["zip": "string", "price": "decimal?"]`.
    package var types: [String: String] = [:]
    /// Whether the types of new classes are determined by all rows, even if all types are given.
    var looksAtAllRows = false
    /// Whether text stays text in new classes.
    ///
    /// Otherwise it can become a number, a date and so on.
    package var isAllText = false
    /// Infer types from this many rows; nil uses all rows.
    package var sample: Int?
    /// For JSON: the names that lead to the list of rows.
    package var records: [String]?
    /// The class of a field's objects: nested objects in JSON, primary keys in CSV.
    package var links: [String: String] = [:]
    /// Round values that have more digits than their type holds, and count them, instead of throwing an error.
    package var isRounding = false

    /// How a Realm file is read.
    package var realm = RealmOptions()

    /// How a PostgreSQL database is read.
    package var postgres = PostgresOptions()

    /// All or nothing, into the classes that the file names.
    package init() {}

    /// Sets the class of all rows, or the tables of a database to import.
    ///
    /// Throws `invalid_argument` for several classes, or classes by table, of a file that is not a database.
    package mutating func setClasses(_ names: [String], of format: TransferFormat) throws {
        if format.isDatabase {
            tables = names
            return
        }
        guard names.count <= 1, classNames.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "a file of this format has one class; pass one class name")
        }
        className = names.first
    }

    /// Throws `invalid_argument` if options contradict each other.
    func check() throws {
        func refuse(_ reason: String) throws { throw StoreError(.invalidArgument, reason) }
        if let batch, batch < 1 { try refuse("a batch has at least one row, got \(batch)") }
        if let sample, sample < 1 { try refuse("a sample has at least one row, got \(sample)") }
        if csv.skippedLines < 0 { try refuse("the number of lines to skip cannot be negative") }
        if let fault = csv.fault { try refuse(fault) }
    }

    /// Returns the property that a column of a table was renamed to; nil if it keeps its name.
    func property(of column: String, in table: String) -> String? {
        names["\(table).\(column)"] ?? names[column]
    }
}

/// The result of an import.
package struct ImportReport: Sendable, Equatable {
    /// The number of rows that were read, rejected ones included.
    package var rows = 0
    /// Objects that were created.
    package var created = 0
    /// Objects that were updated.
    package var updated = 0
    /// Rows that were left out.
    package var rejected = 0
    /// The number of values that were rounded to the digits of their type.
    package var changed = 0
    /// Line and reason of the first ten rows, and links, that were left out.
    package var reasons: [String] = []
    /// Classes that the import created.
    package var newClasses: [String] = []
    /// The classes that the import created, with the types of their properties; for a dry run, those it would create.
    package var newSchema: [ClassSchema] = []
    /// Things that were converted or left out because a store has no equivalent, such as composite keys of a database.
    package var notes: [String] = []
}
