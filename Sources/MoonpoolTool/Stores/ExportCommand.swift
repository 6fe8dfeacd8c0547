import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Transfer

/// The command `moonpool export STORE FILE`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract:
            "Write a store, a class or the results of a query to a file or a PostgreSQL database.",
        discussion: """
            JSON Lines (.jsonl), JSON (.json), CSV (.csv), TSV (.tsv), SQLite (.sqlite) and Lua source (.lua); - writes to \
            standard output. postgres://user@host:5432/database writes tables of a database. An export of a whole store \
            includes its schema, so that an empty store can import it. The file or the tables are written completely or \
            not at all.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "The file, - for standard output, or the address of a database: postgres://…",
        completion: .file())
    var file: String

    @Option(name: .customLong("class"), help: "Only the objects of this class.")
    var className: String?

    @Option(
        name: .customLong("where"), help: "Only objects that match this predicate; needs --class.")
    var predicate: String?

    @Option(
        help: """
            jsonl, json, csv, tsv, sqlite, lua or postgres. Default: from the file extension; jsonl for -.
            """)
    var format: String?

    @Option(help: "The encoding of dates in SQLite: text, seconds, milliseconds or julian.")
    var dates = "text"

    @Option(help: "The separator of CSV fields, such as ';'; \\t is a tab.")
    var separator: String?

    @Option(help: "For PostgreSQL: the schema of the database. Default: public.")
    var schema: String?

    @Flag(help: "For PostgreSQL: update rows whose key exists in existing tables.")
    var upsert = false

    @Flag(help: "For PostgreSQL: drop existing tables of the classes.")
    var replace = false

    @OptionGroup var realm: RealmOptionGroup

    private func postgresOptions(_ format: TransferFormat) throws -> PostgresOptions {
        var options = PostgresOptions()
        guard format == .postgres else {
            guard schema == nil, !upsert, !replace else {
                throw StoreError(
                    .invalidArgument,
                    "--schema, --upsert and --replace are for PostgreSQL databases")
            }
            return options
        }
        guard !upsert || !replace else {
            throw StoreError(.invalidArgument, "pass either --upsert or --replace, not both")
        }
        if let schema { options.schema = schema }
        if upsert { options.existingTables = .upsert }
        if replace { options.existingTables = .replace }
        return options
    }

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) } ?? TransferFormat(path: file)
            let dates = try SQLiteDates(name: dates)
            let postgres = try postgresOptions(format)
            guard predicate == nil || className != nil else {
                throw StoreError(.invalidArgument, "--where needs --class")
            }
            let source = try RealmCopy.open(store, realm.options)
            var subject = Exporter.Subject.store(source)
            if let className {
                let all = try source.objects(className)
                subject = .results(try predicate.map { try all.filtered($0) } ?? all)
            }
            let progress = ProgressLine("exported")
            let separator = try separator.map { try CSVOption.character($0, "--separator") }
            let count = try Exporter(
                subject, as: format, dates: dates, separator: separator, postgres: postgres,
                progress: progress.update
            ).write(to: file)
            progress.end()
            if file != "-" {
                let target = format == .postgres ? PostgresAddress.display(file) : file
                ProcessServices.writeOutput("\(count) objects → \(target)\n")
            }
        }
    }
}
