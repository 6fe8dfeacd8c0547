import ObjectStore

/// How a file is taken into a store.
package struct ImportOptions: Sendable {
    /// The class of all rows; nil where the file says it.
    package var className: String?
    /// Of a database: only these tables, or those of these classes; all where it is empty.
    package var tables: [String] = []
    /// Of a database: classes by the tables whose rows become their objects; an empty name leaves a table out.
    package var classNames: [String: String] = [:]
    /// Of a database: how numbers in date columns are read; nil is SQLite's own way, integers as seconds since 1970 and
    /// others as Julian days.
    package var dates: SQLiteDates?
    /// Whether rows whose primary key exists update that object, instead of being an error.
    package var isUpsert = false
    /// Properties by the names that the file has for them, of a database also as `table.column`; an empty name leaves a
    /// column of the file out.
    package var names: [String: String] = [:]
    /// Where bad rows go, as JSON Lines with line, reason and row; nil makes the first one end the import.
    package var rejects: String?
    /// How many rows are committed at a time; nil is all or nothing.
    package var batch: Int?
    /// Whether everything is rolled back at the end: to see what would happen.
    package var isDryRun = false

    /// How a Realm file is read.
    package var realm = RealmOptions()

    /// All or nothing, into the classes that the file names.
    package init() {}

    /// Sets the class of all rows, or the tables of a database to take.
    ///
    /// Throws `invalid_argument` for several classes, or classes by table, of a file that is no database.
    package mutating func setClasses(_ names: [String], of format: TransferFormat) throws {
        if format == .sqlite || format == .realm {
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

    /// The property that a column of a table was renamed to; nil where it keeps its name.
    func property(of column: String, in table: String) -> String? {
        names["\(table).\(column)"] ?? names[column]
    }
}

/// What an import did.
package struct ImportReport: Sendable, Equatable {
    /// Objects that were created.
    package var created = 0
    /// Objects that were updated.
    package var updated = 0
    /// Rows that were left out, with the first reasons.
    package var rejected = 0
    /// Line and reason of the first rows, and links, that were left out, at most ten.
    package var reasons: [String] = []
    /// Classes that the import created.
    package var newClasses: [String] = []
    /// The same with their properties and the types found for them; of a dry run, what would be created.
    package var newSchema: [ClassSchema] = []
    /// What became of what has no counterpart in a store, such as the composite keys of a database.
    package var notes: [String] = []
}
