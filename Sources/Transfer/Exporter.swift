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
    /// The number of written objects and elements of collections with their own tables.
    private var steps = 0

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
        try check(path)
        try progress?(0, 0)
        let view: StoreView
        let classes: [ClassSchema]
        let parts: [Part]
        switch subject {
        case .store(let store):
            view = try store.frozenView()
            classes = view.schema.classes.sorted { $0.name < $1.name }
            parts = try classes.filter { !$0.isEmbedded }.map {
                ($0, try Results(.frozen(view), all: $0).keys())
            }
        case .results(let results):
            view = results.source.view
            classes = [try options.exported(results.classSchema())]
            parts = [(classes[0], try results.keys())]
        }
        total = parts.reduce(0) { $0 + $1.keys.count }
        if let target = try database(path) {
            try target.export(
                classes, of: view, isWhole: isWhole,
                keys: { table in parts.first { $0.classSchema === table }?.keys }, count: count)
        } else {
            let file = try FileWriter(path, key: options.key)
            if format == .csv || format == .tsv {
                try writeRecords(parts[0], of: view, to: file)
            } else {
                try writeRows(parts, of: view, to: file)
            }
            try file.finish()
        }
        try progress?(written, 1)
        return written
    }

    private typealias Part = (classSchema: ClassSchema, keys: ResultKeys)

    /// Whether all objects are exported, with the schema.
    private var isWhole: Bool { if case .store = subject { true } else { false } }

    /// Throws `invalid_argument` for an export that is not possible, or that would destroy a store.
    private func check(_ path: String) throws {
        func refuse(_ isWrong: Bool, _ reason: @autoclosure () -> String) throws {
            if isWrong { throw StoreError(.invalidArgument, reason()) }
        }
        let isDatabase = format == .sqlite || format == .postgres
        try refuse(
            storePath.map { ProcessServices.isSameFile($0, path) } ?? false,
            "'\(path)' is the store itself; name another file to export to")
        if format != .postgres, path != "-" { try StoreFiles.requireNoStore(path) }
        try refuse(
            format == .realm,
            "Realm files are only read; export to JSON Lines, JSON, CSV, SQLite or Lua source")
        try refuse(
            format == .geoJSON, "GeoJSON can be imported but not exported; use json or jsonl")
        try options.check(for: format)
        try refuse(
            format == .sqlite && Compression.isCompressed(path),
            "a SQLite database is not compressed while it is written; name a file without .gz or .zst"
        )
        try refuse(
            isDatabase && options.key != nil,
            "a database is not encrypted while it is written; export to JSON Lines, JSON, CSV or Lua source"
        )
        guard isWhole else { return }
        try refuse(
            options.needsClass,
            "the options 'columns' and 'table' have no effect on the export of a store, only of a class"
        )
        try refuse(
            format == .csv || format == .tsv, "a CSV file holds one class; add --class NAME")
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

    /// Writes the records of a CSV file.
    private func writeRecords(_ part: Part, of view: StoreView, to file: FileWriter) throws {
        let separator = options.separator ?? (format == .tsv ? "\t" : ",")
        let rows = try CSVRows(view, part.classSchema, separator: separator)
        try rows.write(part.keys, header: file.write) { bytes in
            try file.write(bytes)
            try count(1)
        }
    }

    /// Writes rows of JSON or Lua source.
    private func writeRows(_ parts: [Part], of view: StoreView, to file: FileWriter) throws {
        let isLua = format == .lua
        var json = JSONWriter(isLua ? .lua : .json)
        if isLua { json.literal(LuaDataText.head) }
        if isWhole {
            if isLua {
                json.literal("schema ")
            } else {
                json.beginObject()
                json.key("$schema")
            }
            try SchemaJSON.write(view, to: &json)
            if format == .jsonLines { json.endObject() }
            if format != .json { json.newLine() }
        }
        let form: JSONRows.Form =
            format == .json ? .list : isLua ? .calls : isWhole ? .named : .lines
        for (classSchema, keys) in parts {
            if isWhole, format == .json {
                json.indent(2)
                json.key(classSchema.name)
            }
            let rows = try JSONRows(view, classSchema, form, isNumbered: options.columns.isEmpty)
            try rows.write(keys, &json) { json in
                try count(1)
                guard json.bytes.count > 64 << 10 else { return }
                try file.write(json.bytes)
                json.removeAll()
            }
        }
        if isLua { json.literal(LuaDataText.tail) }
        if format == .json {
            if isWhole {
                json.indentEnd(0)
                json.endObject()
            }
            json.newLine()
        }
        try file.write(json.bytes)
    }

    /// Counts written objects, or with 0 an element of a collection, and reports the progress periodically.
    private func count(_ objects: Int) throws {
        written += objects
        steps += 1
        guard steps % 4096 == 0 else { return }
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
            if classSchema.property(named: name) == nil, name.contains(where: ".[@".contains) {
                throw StoreError(
                    .invalidQuery,
                    "'\(name)' is a path, and columns are properties; export a projection in a script: "
                        + "results:project { name = \"\(name)\" }:export \"file.csv\"")
            }
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
