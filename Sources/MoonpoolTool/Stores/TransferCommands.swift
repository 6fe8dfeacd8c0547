import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Transfer

/// `moonpool export STORE FILE`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a store, a class or the results of a query to a file.",
        discussion: """
            Formats: JSON Lines (.jsonl), JSON (.json), CSV (.csv), SQLite (.sqlite) and Lua source (.lua). - writes to \
            standard output. An export of a whole store includes its schema, so that it can be imported into an empty \
            store. The file is created only if the export succeeds.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The file, or - for standard output.", completion: .file())
    var file: String

    @Option(name: .customLong("class"), help: "Export only the objects of this class.")
    var className: String?

    @Option(
        name: .customLong("where"),
        help: "Export only objects that match this predicate. Requires --class.")
    var predicate: String?

    @Option(
        help:
            "The format: jsonl, json, csv, sqlite or lua. Default: the file extension; jsonl for -."
    )
    var format: String?

    @Option(help: "The encoding of dates in SQLite: text, seconds, milliseconds or julian.")
    var dates = "text"

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) } ?? TransferFormat(path: file)
            let dates = try SQLiteDates(name: dates)
            guard predicate == nil || className != nil else {
                throw StoreError(.invalidArgument, "--where requires --class; add --class NAME")
            }
            let source = try RealmCopy.open(store, realm.options)
            var subject = Exporter.Subject.store(source)
            if let className {
                let all = try source.objects(className)
                subject = .results(try predicate.map { try all.filtered($0) } ?? all)
            }
            let progress = ProgressLine("exported")
            let count = try Exporter(subject, as: format, dates: dates, progress: progress.update)
                .write(to: file)
            progress.end()
            if file != "-" { ProcessServices.writeOutput("\(count) objects → \(file)\n") }
        }
    }
}

/// `moonpool import STORE FILE`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import the rows of a file into a store.",
        discussion: """
            Formats: JSON Lines (.jsonl), JSON (.json), CSV (.csv), SQLite (.sqlite), Realm (.realm) and Lua source (.lua, \
            parsed as data and never run). - reads standard input. An error rolls the whole import back, unless --batch or \
            --skip-bad is given, and names the line of the row. A class that is missing from the store is created from the \
            schema in the file. Without a schema, its properties are inferred from the first 1,000 rows, or from all rows \
            of a database.
            """)

    @Argument(
        help: "The store. It is created if it does not exist.",
        completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @Option(
        name: .customLong("class"),
        help: """
            The class of all rows. For a database: TABLE=CLASS (an empty class skips the table), or TABLE to import only \
            the named tables. Repeatable.
            """)
    var classes: [String] = []

    @Option(
        help: """
            The format: jsonl, json, csv, sqlite, lua or realm. Default: the file extension; jsonl for -.
            """
    )
    var format: String?

    @Option(
        help: """
            The encoding of numbers in date columns of a database: seconds, milliseconds or julian. Default: integers are \
            seconds, other numbers are Julian days.
            """)
    var dates: String?

    @Flag(help: "Update objects whose primary key already exists.")
    var upsert = false

    @Option(
        name: .customLong("map"),
        help: "Map a field to a property: FIELD=PROPERTY. FIELD= skips the field. Repeatable.")
    var maps: [String] = []

    @Option(help: "Skip invalid rows and write them, with reasons, to this file.")
    var skipBad: String?

    @Option(help: "Commit every N rows.")
    var batch: Int?

    @Flag(help: "Run the import without committing.")
    var dryRun = false

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) }
                ?? (RealmCopy.isRealm(file) ? .realm : TransferFormat(path: file))
            let options = try options(format)
            let target = try openStore()
            let progress = ProgressLine("imported")
            let report = try Importer(into: target, options, progress: progress.update)
                .read(file, as: format)
            progress.end()
            ProcessServices.writeOutput(Self.summary(report, isDryRun: dryRun))
        }
    }

    private func options(_ format: TransferFormat) throws -> ImportOptions {
        var options = ImportOptions()
        options.isUpsert = upsert
        options.rejects = skipBad
        options.batch = batch
        options.isDryRun = dryRun
        options.realm = realm.options
        options.dates = try dates.map { try SQLiteDates(name: $0) }
        for map in maps {
            let (field, property) = try Self.pair(
                map, "expected --map FIELD=PROPERTY, got '\(map)'")
            options.names[field] = property
        }
        var names: [String] = []
        for name in classes {
            guard name.contains("=") else {
                names.append(name)
                continue
            }
            let (table, className) = try Self.pair(name, "")
            options.classNames[table] = className
        }
        try options.setClasses(names, of: format)
        return options
    }

    private static func pair(_ text: String, _ fault: String) throws -> (String, String) {
        guard let equals = text.firstIndex(of: "=") else {
            throw StoreError(.invalidArgument, fault)
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    /// Opens the target store.
    ///
    /// A dry run creates no file, and neither does an unreadable source.
    private func openStore() throws -> Store {
        try FileReader.check(file)
        if dryRun, ProcessServices.size(of: store) == nil {
            return try CommandStore.openInMemory()
        }
        return try CommandStore.open(store, isReadOnly: false)
    }

    private static func summary(_ report: ImportReport, isDryRun: Bool) -> String {
        var lines: [String] = []
        for classSchema in report.newSchema {
            lines.append("new class \(classSchema.name)")
            // A dry run shows the properties as well.
            guard isDryRun else { continue }
            let width = classSchema.properties.map(\.name.count).max() ?? 0
            for property in classSchema.properties {
                let space = String(repeating: " ", count: width - property.name.count)
                lines.append("  \(property.name)\(space)  \(PropertySyntax.text(of: property))")
            }
        }
        lines += report.notes.map { "note: \($0)" }
        var counts = ["\(report.created) created", "\(report.updated) updated"]
        if report.rejected > 0 { counts.append("\(report.rejected) skipped") }
        lines.append(counts.joined(separator: ", ") + (isDryRun ? " (dry run: nothing saved)" : ""))
        lines += report.reasons.map { "  \($0)" }
        if report.rejected > report.reasons.count { lines.append("  …") }
        return lines.joined(separator: "\n") + "\n"
    }
}
