import DataFormats
import ObjectStore
import SystemCalls

/// Writes objects of a store to a file or to standard output.
///
/// Reads a single version, regardless of later commits. Memory does not grow with the number of objects, except for the
/// keys of a query's results. Confined to the thread of the store.
package final class Exporter {
    /// The objects to export.
    package enum Subject {
        /// All classes with the schema, so that an empty store can import them.
        case store(Store)
        /// The objects of one query or class.
        case results(Results)
    }

    private let subject: Subject
    private let format: TransferFormat
    private let options: ExportOptions
    private let progress: TransferProgress?
    private var written = 0
    private var total: Int?

    /// Creates an export.
    ///
    /// `progress` is called periodically with the number of written objects; an error that it throws ends the export.
    package init(
        _ subject: Subject, as format: TransferFormat, _ options: ExportOptions = ExportOptions(),
        progress: TransferProgress? = nil
    ) {
        self.subject = subject
        self.format = format
        self.options = options
        self.progress = progress
    }

    /// Writes the file and returns the number of objects in it.
    ///
    /// The file appears completely or not at all; `-` is standard output. Throws `invalid_argument` for values that the
    /// format cannot represent and for the store's own file. Throws a `FormatError` if the file cannot be written.
    package func write(to path: String) throws -> Int {
        if let own = storePath, ProcessServices.isSameFile(own, path) {
            throw StoreError(
                .invalidArgument, "'\(path)' is the store itself; name another file to export to")
        }
        if format != .postgres, path != "-" { try StoreFiles.requireNoStore(path) }
        guard format != .realm else {
            throw StoreError(
                .invalidArgument,
                "Realm files are only read; export to JSON Lines, JSON, CSV, SQLite or Lua source")
        }
        guard format != .geoJSON else {
            throw StoreError(
                .invalidArgument, "GeoJSON can be imported but not exported; use json or jsonl")
        }
        try options.check(for: format)
        guard format != .sqlite || !Compression.isCompressed(path) else {
            throw StoreError(
                .invalidArgument,
                "a SQLite database is not compressed while it is written; name a file without .gz or .zst"
            )
        }
        guard options.key == nil || format != .sqlite && format != .postgres else {
            throw StoreError(
                .invalidArgument,
                "a database is not encrypted while it is written; export to JSON Lines, JSON, CSV or Lua source"
            )
        }
        try progress?(0, 0)
        switch subject {
        case .store(let store):
            guard !options.needsClass else {
                throw StoreError(
                    .invalidArgument,
                    "the options 'columns' and 'table' have no effect on the export of a store, only of a class"
                )
            }
            guard format != .csv, format != .tsv else {
                throw StoreError(
                    .invalidArgument, "a CSV file holds one class; add --class NAME")
            }
            try writeAll(try store.frozenView(), path)
        case .results(let results): try writeOne(results, path)
        }
        try progress?(written, 1)
        return written
    }

    private var storePath: String? {
        let store: Store
        switch subject {
        case .store(let given): store = given
        case .results(let results):
            guard case .store(let owner) = results.source else { return nil }
            store = owner
        }
        if case .file(let path) = store.configuration.location { return path }
        return nil
    }

    /// Returns the database to write to; nil for a format that is not an SQL database.
    private func database(_ path: String) throws -> (any RelationalTarget)? {
        switch format {
        case .sqlite: try SQLiteTarget(path, dates: options.dates ?? .text)
        case .postgres: try RowFormats.postgres.required().target(path, options.postgres)
        default: nil
        }
    }

    private func writeAll(_ view: StoreView, _ path: String) throws {
        let classes = view.schema.classes.sorted { $0.name < $1.name }
        let parts = try classes.filter { !$0.isEmbedded }.map { classSchema in
            (classSchema, try Results(.frozen(view), all: classSchema).keys())
        }
        total = parts.reduce(0) { $0 + $1.1.count }
        if let target = try database(path) {
            return try target.export(
                classes, of: view, isWhole: true,
                keys: { table in parts.first { $0.0 === table }?.1 }, count: count)
        }
        let file = try FileWriter(path, key: options.key)
        var json = JSONWriter(format == .lua ? .lua : .json)
        if format == .lua {
            json.literal(LuaDataText.head + "schema ")
        } else {
            json.beginObject()
            json.key("$schema")
        }
        try SchemaJSON.write(classes, of: view, to: &json, isLua: format == .lua)
        if format == .jsonLines { json.endObject() }
        if format != .json { json.newLine() }
        for (classSchema, keys) in parts {
            if format == .json {
                json.indent(2)
                json.key(classSchema.name)
            }
            try write(
                keys, as: rows(view, classSchema, namesClass: format == .jsonLines), through: &json,
                to: file)
        }
        switch format {
        case .json:
            json.indentEnd(0)
            json.endObject()
            json.newLine()
        case .lua: json.literal(LuaDataText.tail)
        default: break
        }
        try file.write(json.bytes)
        try file.finish()
    }

    private func writeOne(_ results: Results, _ path: String) throws {
        let view = results.source.view
        let classSchema = try options.exported(results.classSchema())
        let keys = try results.keys()
        total = keys.count
        if let target = try database(path) {
            return try target.export(
                [classSchema], of: view, isWhole: false, keys: { _ in keys }, count: count)
        }
        let file = try FileWriter(path, key: options.key)
        if format == .csv || format == .tsv {
            let csv = try CSVRows(
                view, classSchema, separator: options.separator ?? (format == .tsv ? "\t" : ","))
            try csv.write(keys, header: file.write) { bytes in
                try file.write(bytes)
                try self.count()
            }
            return try file.finish()
        }
        var json = JSONWriter(format == .lua ? .lua : .json)
        if format == .lua { json.literal(LuaDataText.head) }
        try write(keys, as: rows(view, classSchema, namesClass: false), through: &json, to: file)
        if format == .json { json.newLine() }
        if format == .lua { json.literal(LuaDataText.tail) }
        try file.write(json.bytes)
        try file.finish()
    }

    private func rows(
        _ view: StoreView, _ classSchema: ClassSchema, namesClass: Bool
    ) throws -> JSONRows {
        let form: JSONRows.Form =
            format == .json ? .list : format == .lua ? .calls : namesClass ? .named : .lines
        return try JSONRows(view, classSchema, form, isNumbered: options.columns.isEmpty)
    }

    private func write(
        _ keys: ResultKeys, as rows: JSONRows, through json: inout JSONWriter, to file: FileWriter
    ) throws {
        try rows.write(keys, &json) { json in
            try self.count()
            guard json.bytes.count > 64 << 10 else { return }
            try file.write(json.bytes)
            json.removeAll()
        }
    }

    private func count() throws {
        written += 1
        guard written % 4096 == 0 else { return }
        try progress?(written, total.map { Double(written) / Double(max($0, 1)) })
    }
}

/// Receives the number of processed objects, and the completed fraction of the work from 0 to 1 if it is known.
///
/// An error that it throws ends the work.
package typealias TransferProgress = (_ objects: Int, _ part: Double?) throws -> Void

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
    /// The key with which a file is encrypted; nil for a file that is not.
    package var key: CopyKey?

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
