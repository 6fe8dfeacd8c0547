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
            JSON Lines (.jsonl), JSON (.json), CSV (.csv), TSV (.tsv), SQLite (.sqlite) and Lua source (.lua); - writes to \
            standard output. An export of a whole store includes its schema, so that an empty store can import it. The \
            file is written completely or not at all.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The file, or - for standard output.", completion: .file())
    var file: String

    @Option(name: .customLong("class"), help: "Only the objects of this class.")
    var className: String?

    @Option(
        name: .customLong("where"), help: "Only objects that match this predicate; needs --class.")
    var predicate: String?

    @Option(
        help: "jsonl, json, csv, tsv, sqlite or lua. Default: by the file's ending; jsonl for -.")
    var format: String?

    @Option(help: "The encoding of dates in SQLite: text, seconds, milliseconds or julian.")
    var dates = "text"

    @Option(help: "The separator of CSV fields, such as ';'; \\t is a tab.")
    var separator: String?

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        CommandInterruption.begin()
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) } ?? TransferFormat(path: file)
            let dates = try SQLiteDates(name: dates)
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
                subject, as: format, dates: dates, separator: separator, progress: progress.update
            ).write(to: file)
            progress.end()
            if file != "-" { ProcessServices.writeOutput("\(count) objects → \(file)\n") }
        }
    }
}
