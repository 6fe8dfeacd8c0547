import DataFormats
import ObjectStore

/// The options for importing a file into a store.
///
///     var options = ImportOptions()
///     options.className = "Dog"
///     options.isUpsert = true
package struct ImportOptions: Sendable {
    /// The class of all rows; nil if the file contains the class names.
    package var className: String?
    /// The tables to import from a database, by their names or by the names of their classes; all tables if empty.
    package var tables: [String] = []
    /// The classes of tables of a database, by table; an empty class name omits the table.
    package var classNames: [String: String] = [:]
    /// The encoding of numbers in date columns of a database.
    ///
    /// Nil for the convention of SQLite: integers are seconds since 1970, other numbers are Julian days.
    package var dates: SQLiteDates?
    /// Whether to update objects whose primary key exists, instead of throwing an error.
    package var isUpsert = false
    /// The properties of fields, by field, or for a database also by `table.column`; an empty property name omits the
    /// field.
    package var names: [String: String] = [:]
    /// The path of a file for invalid records, in the format of the input.
    ///
    /// Without it, the first invalid record ends the import.
    package var rejects: String?
    /// Returns the path of the file with the reasons for invalid records.
    package static func reasonsFile(of rejects: String) -> String { rejects + ".reasons.jsonl" }

    /// The number of rows between commits; nil for a single commit at the end.
    package var batch: Int?
    /// Whether to roll back the import at the end.
    package var isDryRun = false
    /// The dialect of a CSV file.
    package var csv = CSVFormat()
    /// The encoding of a text file; nil for UTF-8.
    package var encoding: String?
    /// Whether an empty CSV field leaves a property unchanged, instead of setting it to nil.
    package var keepsEmpty = false
    /// The types of fields of new classes, in the notation of a schema: `["zip": "string", "price": "decimal?"]`.
    package var types: [String: String] = [:]
    /// Whether text stays text in new classes.
    ///
    /// Otherwise, properties can become numbers, dates and other types.
    package var isAllText = false
    /// The number of rows from which types are inferred; nil for all rows.
    package var sample: Int?
    /// The path to the list of rows in a JSON file.
    package var records: [String]?
    /// The classes that fields link to, by field: nested objects in JSON, primary keys in CSV.
    package var links: [String: String] = [:]
    /// Whether to round values with more digits than their type has, and count them, instead of throwing an error.
    package var isRounding = false

    /// The options for a Realm file.
    package var realm = RealmOptions()

    /// The options for a PostgreSQL database.
    package var postgres = PostgresOptions()

    /// Creates options for an import in one transaction, into the classes that the file names.
    package init() {}

    /// Sets the class of all rows, or adds the tables of a database to import.
    ///
    /// Throws `invalid_argument` if the format is not a database and there are several classes, or classes by table.
    package mutating func setClasses(_ names: [String], of format: TransferFormat) throws {
        if format.isDatabase {
            tables += names
            return
        }
        guard names.count <= 1, classNames.isEmpty else {
            throw StoreError(
                .invalidArgument,
                "a file of this format has one class; pass one class name")
        }
        className = names.first
    }

    /// The options of imports.
    private static var scopes: [OptionScope<ImportOptions>] {
        [
            OptionScope("table", .databases) { !$0.tables.isEmpty },
            OptionScope("schema", [.postgres]) { $0.postgres.schema != nil },
            OptionScope("key", [.realm, .postgres]) {
                $0.realm.key != nil || !$0.postgres.keys.isEmpty
            },
            OptionScope("rescue", [.realm]) { $0.realm.isRescue },
            OptionScope("dotnet-guids", [.realm]) { $0.realm.hasDotNetGUIDs },
            OptionScope("dates", [.sqlite]) { $0.dates != nil },
            OptionScope("keep-empty", .csv, needs: ("upsert", \.isUpsert)) { $0.keepsEmpty },
            OptionScope("separator", .csv) { $0.csv.separator != nil },
            OptionScope("quote", .csv) { $0.csv.quote != CSVFormat().quote },
            OptionScope("no-header", .csv) { !$0.csv.hasHeader },
            OptionScope("skip-lines", .csv) { $0.csv.skippedLines != 0 },
            OptionScope("null", .csv) { !$0.csv.nulls.isEmpty },
            OptionScope("all-text", .csv) { $0.isAllText },
            OptionScope("records", [.json]) { $0.records != nil },
            OptionScope("encoding", .texts) { $0.encoding != nil },
            OptionScope("types", .texts) { !$0.types.isEmpty },
            OptionScope("sample", .texts) { $0.sample != nil },
            OptionScope("link", .texts) { !$0.links.isEmpty },
            OptionScope("round", Set.texts.union([.sqlite, .postgres])) { $0.isRounding },
        ]
    }

    /// Throws `invalid_argument` if options contradict each other, or have no effect on a format.
    func check(for format: TransferFormat) throws {
        try OptionScope.check(self, Self.scopes, "import", of: format)
        func refuse(_ reason: String) throws { throw StoreError(.invalidArgument, reason) }
        if let batch, batch < 1 { try refuse("expected a batch of at least one row, got \(batch)") }
        if let sample, sample < 1 {
            try refuse("expected a sample of at least one row, got \(sample)")
        }
        if csv.skippedLines < 0 { try refuse("the number of lines to skip cannot be negative") }
        if let fault = csv.fault { try refuse(fault) }
    }

    /// Returns the property that a column of a table was renamed to; nil if it keeps its name.
    package func property(of column: String, in table: String) -> String? {
        names["\(table).\(column)"] ?? names[column]
    }
}

/// The result of an import.
package struct ImportReport: Sendable, Equatable {
    /// The number of rows that were read, including rejected ones.
    package var rows = 0
    /// The number of objects that were created.
    package var created = 0
    /// The number of objects that were updated.
    package var updated = 0
    /// The number of rows that were rejected.
    package var rejected = 0
    /// The number of values that were rounded to the digits of their type.
    package var changed = 0
    /// The locations and the reasons of the first ten rejected rows, and of omitted links.
    package var reasons: [String] = []
    /// The names of the classes that the import created.
    package var newClasses: [String] = []
    /// The classes that the import created, with the types of their properties; for a dry run, the classes that it
    /// would create.
    package var newSchema: [ClassSchema] = []
    /// Notes about data that was converted or omitted because a store has no equivalent, such as composite keys.
    package var notes: [String] = []
}

/// An option of an import or export, and what it acts on.
///
/// This is the only place that decides whether an option has an effect. An option without an effect is an error, on the
/// command line and in Lua.
struct OptionScope<Options> {
    private let name: String
    private let formats: Set<TransferFormat>
    private let isGiven: (Options) -> Bool
    private let needed: (name: String, isGiven: (Options) -> Bool)?

    /// Declares an option; `needs` is another option without which it has no effect.
    init(
        _ name: String, _ formats: Set<TransferFormat>,
        needs needed: (String, (Options) -> Bool)? = nil, isGiven: @escaping (Options) -> Bool
    ) {
        self.name = name
        self.formats = formats
        self.needed = needed
        self.isGiven = isGiven
    }

    /// Throws `invalid_argument` for a given option without an effect; `action` is `import` or `export`.
    static func check(
        _ options: Options, _ scopes: [Self], _ action: String, of format: TransferFormat
    ) throws {
        for scope in scopes where scope.isGiven(options) {
            guard scope.formats.contains(format) else {
                let formats = TransferFormat.allCases.filter(scope.formats.contains)
                throw StoreError(
                    .invalidArgument,
                    "the option '\(scope.name)' has no effect on the \(action) of \(format.rawValue), only of "
                        + formats.map(\.rawValue).joined(separator: ", "))
            }
            if let needed = scope.needed, !needed.isGiven(options) {
                throw StoreError(
                    .invalidArgument,
                    "the option '\(scope.name)' has no effect without '\(needed.name)'")
            }
        }
    }
}

extension Set<TransferFormat> {
    /// Comma-separated and tab-separated values.
    static let csv: Set = [.csv, .tsv]
    /// The formats of text files.
    static let texts: Set = [.jsonLines, .json, .geoJSON, .csv, .tsv, .lua]
    static let databases: Set = [.sqlite, .realm, .postgres]
}

extension ImportOptions {
    /// Returns the class name for a table of a database; nil for a table that is omitted.
    func className(ofTable table: String, usually name: String) -> String? {
        if let given = classNames[table] { return given.isEmpty ? nil : given }
        let isWanted = tables.isEmpty || tables.contains(table) || tables.contains(name)
        return isWanted ? name : nil
    }

    /// Returns the names by which the options can map the columns of a table.
    package static func fields(_ table: String, _ columns: [String]) -> [String] {
        columns.flatMap { [$0, "\(table).\($0)"] }
    }

    /// Throws `invalid_argument` if a table that the options name does not exist, or if no table is imported.
    ///
    /// `existing` are the names of all tables, `classNames` are the classes of the imported ones.
    func checkTables(
        _ existing: [String], importing classNames: [String], from database: String
    ) throws {
        let wanted = tables.filter { !classNames.contains($0) } + self.classNames.keys
        for name in wanted where !existing.contains(name) {
            throw StoreError(
                .invalidArgument,
                "there is no table '\(name)'\(NearestName.hint(for: name, among: existing))")
        }
        guard classNames.isEmpty else { return }
        throw StoreError(.invalidArgument, "\(database) has no table to import")
    }

    /// Returns the positions of the collections that have tables of their own: an updated object must not keep elements
    /// that are not in these tables.
    func collectionsToEmpty(
        _ collections: [Property], of table: String, in classSchema: ClassSchema
    ) -> [Int] {
        guard isUpsert else { return [] }
        return collections.filter { !$0.isMap }.compactMap {
            classSchema.position(of: property(of: $0.name, in: table) ?? $0.name)
        }
    }
}

extension Importer {
    /// Returns the fields of the class of a table.
    ///
    /// Throws ``FormatError`` for an embedded class.
    func fields(ofTableClass className: String) throws -> FieldTable {
        let fields = try fields(of: className)
        guard !fields.classSchema.isEmbedded else {
            throw FormatError("'\(className)' is embedded: its objects are part of their owners")
        }
        return fields
    }
}

/// A format for exports and imports.
package enum TransferFormat: String, CaseIterable, Sendable {
    /// JSON Lines, with one object on each line.
    case jsonLines = "jsonl"
    /// One JSON text.
    case json
    /// The features of a GeoJSON collection; import only.
    case geoJSON = "geojson"
    /// Comma-separated values, with one class per file.
    case csv
    /// Tab-separated values, with one class per file.
    case tsv
    /// A SQLite database with one table per class.
    case sqlite
    /// Lua source that contains only data.
    case lua
    /// A Realm database; import only.
    case realm
    /// A PostgreSQL database with one table per class; the path is its address.
    case postgres

    /// Returns the format for the extension of a path, ignoring `.gz` and `.zst`.
    ///
    /// Returns JSON Lines for `-`, which is standard input or output, and for a pipe without a known extension. Throws `invalid_argument` with the known
    /// extensions.
    package init(path: String) throws {
        guard path != "-" else {
            self = .jsonLines
            return
        }
        guard !PostgresAddress.isAddress(path) else {
            self = .postgres
            return
        }
        var parts = (path.split(separator: "/").last ?? "").split(separator: ".")
        if let last = parts.last?.lowercased(), last == "gz" || last == "zst" { parts.removeLast() }
        switch parts.last?.lowercased() {
        case "jsonl", "ndjson": self = .jsonLines
        case "json": self = .json
        case "geojson": self = .geoJSON
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "sqlite", "sqlite3", "db": self = .sqlite
        case "lua": self = .lua
        case "realm": self = .realm
        case _ where FileReader.isPipe(path): self = .jsonLines
        case "enc":
            throw StoreError(
                .invalidArgument,
                "'\(path)' has the extension of encrypted files; export with --key-file KEY, and decrypt a file before its "
                    + "import with 'moonpool decrypt'")
        default:
            throw StoreError(
                .invalidArgument,
                "the extension of '\(path)' is not a known format; use .jsonl, .json, .csv, .tsv, "
                    + ".sqlite, .lua or, to import, .geojson or .realm, or the address postgres://…, or specify it with --format (in Lua, format = …)"
            )
        }
    }

    /// Whether the format is a database, whose errors contain tables instead of lines.
    var isDatabase: Bool { self == .sqlite || self == .realm || self == .postgres }

    /// Creates the format with this name.
    ///
    /// Throws `invalid_argument` with the known names.
    package init(name: String) throws {
        guard let format = Self(rawValue: name.lowercased()) else {
            throw StoreError(
                .invalidArgument,
                "unknown format '\(name)'"
                    + NearestName.hint(for: name, among: Self.allCases.map(\.rawValue))
                    + "; use jsonl, json, csv, tsv, sqlite, lua, postgres or, to import, geojson or realm"
            )
        }
        self = format
    }
}
