import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import SystemCalls
import Transfer

/// The command `moonpool import STORE FILE`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import the rows of a file or a PostgreSQL database into a store.",
        discussion: """
            JSON Lines (.jsonl), JSON (.json), GeoJSON (.geojson), CSV (.csv), TSV (.tsv), SQLite (.sqlite), Realm (.realm) and Lua \
            source (.lua, read as data and never run), also compressed (.gz, .zst); - reads standard input. \
            postgres://user@host:5432/database reads the tables of a database, where --key COLUMN or --key TABLE=COLUMN,… \
            names the column that identifies objects. Imports all rows or none, unless --batch or --skip-bad is given. An \
            error names line, column and value. A class that the store does not have is created from the file's schema, or \
            inferred from all rows: a text column becomes a column of numbers, dates or other types if every text equals such \
            a value. An option that has no effect is an error.
            """)

    @Argument(
        help: "The store; created if it does not exist.",
        completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "The file, - for standard input, or the address of a database: postgres://…",
        completion: .file())
    var file: String

    @Option(
        name: .customLong("class"),
        help: """
            The class of all rows. For a database: table=Class, where an empty class skips the table; or the name of a \
            table, to skip all others. Repeatable.
            """)
    var classes: [String] = []

    @Option(
        help: """
            jsonl, json, geojson, csv, tsv, sqlite, lua, realm or postgres. Default: from the file extension; jsonl for -.
            """)
    var format: String?

    @OptionGroup(title: "Reading")
    var reading: ReadingOptions

    @Option(help: "For PostgreSQL: the schema of the database. Default: public.")
    var schema: String?

    @Option(
        name: .customLong("table"),
        help: "For a database: import only this table or view. Repeatable.")
    var tables: [String] = []

    @Flag(help: "Update objects whose primary key exists.")
    var upsert = false

    @Flag(
        help:
            "With --upsert, keep the old value where a CSV field is empty, instead of setting nil.")
    var keepEmpty = false

    @Option(
        name: .customLong("map"),
        help: "field=property; an empty property omits the field. Repeatable.")
    var maps: [String] = []

    @Option(
        name: .customLong("link"),
        help: """
            field=Class: nested objects become objects of this class and the field a link to them; in CSV, the field holds \
            primary keys of the class. Repeatable.
            """)
    var links: [String] = []

    @Option(
        name: [.customLong("skip-bad"), .customLong("rejects")],
        help: """
            Skip invalid rows and write them unchanged to this file; the reasons go to FILE.reasons.jsonl.
            """)
    var skipBad: String?

    @Option(help: "Commit every N rows.")
    var batch: Int?

    @Flag(
        help:
            "Round values with more digits than their type allows, and count them, instead of failing."
    )
    var round = false

    @Flag(help: "Do everything except the commit, and show the types of new classes.")
    var dryRun = false

    @Flag(help: "Print the report as JSON.")
    var json = false

    @OptionGroup var realm: RealmOptionGroup

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) }
                ?? (RealmCopy.isRealm(file) ? .realm : TransferFormat(path: file))
            let options = try options(format)
            if format != .postgres { try FileReader.check(file) }
            let target = try ImportTarget(
                store, isDryRun: dryRun, isBatched: batch != nil, version)
            let progress = ProgressLine("imported")
            let report = try target.run { store in
                try Importer(into: store, options, progress: progress.update)
                    .read(file, as: format)
            }
            progress.end()
            let summary = ImportSummary(report: report, isDryRun: dryRun)
            ProcessServices.writeOutput(json ? summary.json : summary.text)
        }
    }

    private func options(_ format: TransferFormat) throws -> ImportOptions {
        var options = ImportOptions()
        options.isUpsert = upsert
        options.keepsEmpty = keepEmpty
        options.rejects = skipBad
        options.batch = batch
        options.isRounding = round
        options.isDryRun = dryRun
        if format == .postgres {
            options.postgres.keys = try realm.keyColumns()
        } else {
            options.realm = realm.options
        }
        options.postgres.schema = schema
        try reading.apply(to: &options)
        for map in maps {
            let (field, property) = try OptionPair.split(map, "--map", "field=property")
            options.names[field] = property
        }
        for link in links {
            let (field, target) = try OptionPair.split(link, "--link", "field=Class")
            options.links[field] = target
        }
        options.tables = tables
        var names: [String] = []
        for name in classes {
            guard name.contains("=") else {
                names.append(name)
                continue
            }
            let (table, className) = try OptionPair.split(name, "--class", "table=Class")
            options.classNames[table] = className
        }
        try options.setClasses(names, of: format)
        return options
    }
}

/// The options of `moonpool import` that control how a file is read.
struct ReadingOptions: ParsableArguments {
    @Option(
        help: """
            Types of fields of a new class: name=string,born=date. Repeatable.
            """)
    var types: [String] = []

    @Flag(help: "Keep all CSV fields of a new class as text.")
    var allText = false

    @Option(help: "Infer types from the first N rows instead of all.")
    var sample: Int?

    @Option(help: "The separator of CSV fields, such as ';'; \\t is a tab.")
    var separator: String?

    @Flag(help: "The first CSV record is data; the fields are called column_1, column_2 and so on.")
    var noHeader = false

    @Option(help: "The quote of CSV fields; with an empty text, quotes are ordinary characters.")
    var quote: String?

    @Option(help: "Skip N lines before the CSV header.")
    var skipLines = 0

    @Option(
        name: .customLong("null"),
        help:
            "An unquoted CSV field that is imported as nil, in addition to empty fields. Repeatable."
    )
    var nulls: [String] = []

    @Option(name: .customLong("nulls"), help: "Several texts for --null: NA,-,….")
    var nullList: String?

    @Option(help: "Decode a text file from this encoding, such as windows-1252.")
    var encoding: String?

    @Option(help: "The path to the list of rows in a JSON text: path.to.array.")
    var records: String?

    @Option(
        help: """
            The encoding of numbers in the date columns of a database: seconds, milliseconds or julian. Default: integers \
            are seconds, others Julian days.
            """)
    var dates: String?

    func apply(to options: inout ImportOptions) throws {
        for list in types {
            for pair in list.split(separator: ",") {
                let (field, type) = try OptionPair.split(
                    String(pair), "--types", "name=type,…")
                options.types[field.trimmingSpaces] = type.trimmingSpaces
            }
        }
        options.isAllText = allText
        options.sample = sample
        options.csv = try csv()
        options.encoding = encoding
        options.records = records?.split(separator: ".").map(String.init)
        options.dates = try dates.map { try SQLiteDates(name: $0) }
    }

    private func csv() throws -> CSVFormat {
        var format = CSVFormat()
        if let separator { format.separator = try CSVOption.character(separator, "--separator") }
        if let quote {
            format.quote = quote.isEmpty ? nil : try CSVOption.character(quote, "--quote")
        }
        format.hasHeader = !noHeader
        format.skippedLines = skipLines
        format.nulls = nulls + (nullList?.split(separator: ",").map(String.init) ?? [])
        return format
    }
}

/// Parses option values of one character.
enum CSVOption {
    /// Returns the character of an option value.
    ///
    /// Throws `invalid_argument` for other values.
    static func character(_ text: String, _ option: String) throws -> Character {
        guard let character = CSVFormat.character(text), character.isASCII, !character.isNewline
        else {
            throw StoreError(
                .invalidArgument, "\(option) must be one ASCII character, got \"\(text)\"")
        }
        return character
    }
}

/// Parses option values of the form `name=value`.
enum OptionPair {
    /// Splits a value at the first `=`.
    ///
    /// Throws `invalid_argument` if there is no `=`.
    static func split(_ text: String, _ option: String, _ form: String) throws -> (String, String) {
        guard let equals = text.firstIndex(of: "=") else {
            throw StoreError(.invalidArgument, "\(option): expected \(form), got '\(text)'")
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var rest = self[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}

/// The report of an import, as text or as JSON.
struct ImportSummary {
    let report: ImportReport
    let isDryRun: Bool

    /// The lines of the text report.
    var text: String {
        var lines: [String] = []
        for classSchema in report.newSchema {
            lines.append("new class \(classSchema.name)")
            guard isDryRun else { continue }
            let width = classSchema.properties.map(\.name.count).max() ?? 0
            for property in classSchema.properties {
                let space = String(repeating: " ", count: width - property.name.count)
                lines.append("  \(property.name)\(space)  \(PropertySyntax.text(of: property))")
            }
        }
        lines += report.notes.map { "note: \($0)" }
        var counts = ["\(report.created) created", "\(report.updated) updated"]
        if report.changed > 0 {
            counts.append("\(report.changed) \(report.changed == 1 ? "value" : "values") rounded")
        }
        if report.rejected > 0 { counts.append("\(report.rejected) rejected") }
        lines.append(
            counts.joined(separator: ", ") + (isDryRun ? " (dry run: nothing committed)" : ""))
        lines += report.reasons.map { "  \($0)" }
        if report.rejected > report.reasons.count { lines.append("  …") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The summary as a JSON object on one line.
    var json: String {
        var json = JSONWriter()
        json.beginObject()
        func count(_ name: String, _ number: Int) {
            json.key(name)
            json.int(Int64(number))
        }
        count("rows", report.rows)
        count("created", report.created)
        count("updated", report.updated)
        count("rejected", report.rejected)
        count("changed", report.changed)
        json.member("dry_run", isDryRun)
        func texts(_ name: String, _ texts: [String]) {
            json.key(name)
            json.beginArray()
            for text in texts { json.string(text) }
            json.endArray()
        }
        texts("reasons", report.reasons)
        texts("new_classes", report.newClasses)
        json.key("schema")
        json.beginObject()
        for classSchema in report.newSchema {
            json.key(classSchema.name)
            json.beginObject()
            for property in classSchema.properties {
                json.key(property.name)
                json.string(PropertySyntax.text(of: property))
            }
            json.endObject()
        }
        json.endObject()
        texts("notes", report.notes)
        json.endObject()
        json.newLine()
        return json.text
    }
}

/// The store of an import; a failed import leaves no new file behind.
struct ImportTarget {
    private let path: String
    private let store: Store
    private let isNew: Bool

    /// Opens or creates the store; a dry run creates no file.
    init(
        _ path: String, isDryRun: Bool, isBatched: Bool, _ version: SchemaVersionOption
    ) throws {
        self.path = path
        let exists = ProcessServices.size(of: path) != nil
        guard !isDryRun || exists else {
            isNew = false
            store = try CommandStore.openInMemory()
            return
        }
        isNew = !exists
        // Batches that were committed before an interruption are kept.
        if isNew, !isBatched { UnfinishedFiles.add(Self.files(path)) }
        do {
            store = try CommandStore.open(path, isReadOnly: false, version)
        } catch {
            if isNew {
                UnfinishedFiles.forget(Self.files(path))
                Self.files(path).forEach(ProcessServices.remove)
            }
            throw error
        }
    }

    /// Runs the import.
    func run<Result>(_ work: (Store) throws -> Result) throws -> Result {
        defer { if isNew { UnfinishedFiles.forget(Self.files(path)) } }
        do {
            return try work(store)
        } catch {
            // With batches, some data may have been committed.
            let isEmpty = store.view.schema.classes.isEmpty
            store.close()
            if isNew, isEmpty { Self.files(path).forEach(ProcessServices.remove) }
            throw error
        }
    }

    /// Returns the paths of the files that belong to a store.
    private static func files(_ path: String) -> [String] {
        ["", "-lock", "-log"].map { path + $0 }
    }
}
