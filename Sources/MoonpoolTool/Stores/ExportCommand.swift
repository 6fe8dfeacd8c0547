import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import SystemCalls
import Transfer

/// The command `moonpool export STORE FILE`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract:
            "Write a store, a class or the results of a query to a file or a PostgreSQL database.",
        discussion: """
            JSON Lines (.jsonl), JSON (.json), CSV (.csv), TSV (.tsv), SQLite (.sqlite) and Lua source (.lua); - writes to \
            standard output, and a name that ends in .gz or .zst is compressed. postgres://user@host:5432/database writes \
            tables of a database. An export of a whole store includes its schema, so that an empty store can import it. The file or the tables are written completely or \
            not at all. --key-file encrypts the file, and .enc can follow its name; moonpool decrypt decrypts it.
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

    @Option(
        help: """
            Only these properties, in this order: name,… or name=column,…; needs --class.
            """)
    var columns: String?

    @Option(help: "The order of the objects: path or path desc, …; needs --class.")
    var order: String?

    @Option(help: "At most N objects; needs --class.")
    var limit: Int?

    @Option(help: "For a database: the table of the class. Default: its name.")
    var table: String?

    @Option(
        help:
            "The encoding of dates in SQLite: text, seconds, milliseconds or julian. Default: text."
    )
    var dates: String?

    @Option(help: "The separator of CSV fields, such as ';'; \\t is a tab.")
    var separator: String?

    @Option(help: "For PostgreSQL: the schema of the database. Default: public.")
    var schema: String?

    @Flag(help: "For PostgreSQL: update rows whose key exists in existing tables.")
    var upsert = false

    @Flag(help: "For PostgreSQL: drop existing tables of the classes.")
    var replace = false

    @OptionGroup var encryption: KeyFileOptionGroup

    @OptionGroup var realm: RealmOptionGroup

    @OptionGroup var version: SchemaVersionOption

    private func options() throws -> ExportOptions {
        var options = ExportOptions()
        options.setColumns(columns?.split(separator: ",").map(String.init) ?? [])
        options.table = table
        options.key = try encryption.key
        options.dates = try dates.map { try SQLiteDates(name: $0) }
        options.separator = try separator.map { try CSVOption.character($0, "--separator") }
        options.postgres.schema = schema
        guard !upsert || !replace else {
            throw StoreError(.invalidArgument, "pass either --upsert or --replace, not both")
        }
        if upsert { options.postgres.existingTables = .upsert }
        if replace { options.postgres.existingTables = .replace }
        return options
    }

    private func subject(_ source: Store) throws -> Exporter.Subject {
        guard let className else {
            let given: [(name: String, isGiven: Bool)] = [
                ("--where", predicate != nil), ("--order", order != nil),
                ("--limit", limit != nil),
            ]
            guard let option = given.first(where: \.isGiven) else { return .store(source) }
            throw StoreError(.invalidArgument, "\(option.name) needs --class")
        }
        var results = try source.objects(className)
        if let predicate { results = try results.filtered(predicate) }
        if let order { results = try results.sorted(try Self.keys(order)) }
        if let limit { results = try results.limited(to: limit) }
        return .results(results)
    }

    /// Parses an order such as `age desc, name`.
    private static func keys(_ text: String) throws -> [(path: String, ascending: Bool)] {
        try text.split(separator: ",").map { key in
            let words = key.split(separator: " ").map(String.init)
            let isDescending = words.count == 2 && words[1].lowercased() == "desc"
            guard
                words.count == 1 || isDescending
                    || words.count == 2 && words[1].lowercased() == "asc"
            else {
                throw StoreError(
                    .invalidArgument, "--order: expected path or path desc, got '\(key)'")
            }
            return (words[0], !isDescending)
        }
    }

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) }
                ?? TransferFormat(
                    path: encryption.keyFile == nil ? file : EncryptedFiles.plainName(file))
            let options = try options()
            let source = try RealmCopy.open(store, realm, version)
            let progress = ProgressLine("exported")
            let count = try Exporter(
                try subject(source), as: format, options, progress: progress.update
            ).write(to: file)
            progress.end()
            if file != "-" {
                let target = format == .postgres ? PostgresAddress.display(file) : file
                ProcessServices.writeOutput("\(count) objects → \(target)\n")
            }
        }
    }
}
