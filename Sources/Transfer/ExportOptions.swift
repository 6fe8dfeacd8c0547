import ObjectStore

/// The options for exporting objects.
///
///     var options = ExportOptions()
///     options.columns = [("id", "id"), ("price", "unit price")]
package struct ExportOptions: Sendable {
    /// The encoding of dates in a SQLite database; nil for text.
    package var dates: SQLiteDates?
    /// The separator of fields in a CSV file; nil for a comma, or for a tab in a TSV file.
    package var separator: Character?
    /// The exported properties and the names of their columns, in order; empty for all properties.
    package var columns: [(property: String, column: String)] = []
    /// The table of a database; nil for the name of the class.
    package var table: String?
    /// The options for a PostgreSQL database.
    package var postgres = PostgresOptions()

    /// Creates options for an export of all properties under their own names.
    package init() {}

    private static var scopes: [OptionScope<ExportOptions>] {
        [
            OptionScope("dates", [.sqlite]) { $0.dates != nil },
            OptionScope("separator", .csv) { $0.separator != nil },
            OptionScope("table", [.sqlite, .postgres]) { $0.table != nil },
            OptionScope("schema", [.postgres]) { $0.postgres.schema != nil },
            OptionScope("upsert", [.postgres]) { $0.postgres.existingTables == .upsert },
            OptionScope("replace", [.postgres]) { $0.postgres.existingTables == .replace },
        ]
    }

    /// Throws `invalid_argument` if an option has no effect on a format.
    func check(for format: TransferFormat) throws {
        try OptionScope.check(self, Self.scopes, "export", of: format)
    }

    /// Sets the columns from texts such as `id` and `price=unit price`.
    package mutating func setColumns(_ texts: [String]) {
        columns = texts.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            return (parts.first ?? "", parts.last ?? "")
        }
    }

    /// Whether the options choose columns or a table, which only an export of one class has.
    var needsClass: Bool { !columns.isEmpty || table != nil }

    /// Returns a class as the export shows it.
    ///
    /// Throws `unknown_property`, and `invalid_argument` for two columns with one name.
    func exported(_ classSchema: ClassSchema) throws -> ClassSchema {
        guard needsClass else { return classSchema }
        var names: Set<String> = []
        var properties = try columns.map { name, column in
            var property = try classSchema.requireProperty(name)
            property.name = column
            guard names.insert(column).inserted else {
                throw StoreError(.invalidArgument, "two columns are called '\(column)'")
            }
            return property
        }
        if columns.isEmpty { properties = classSchema.properties }
        return classSchema.view(as: table ?? classSchema.name, properties)
    }
}
