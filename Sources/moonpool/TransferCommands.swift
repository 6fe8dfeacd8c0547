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
            JSON Lines (.jsonl), JSON (.json) and CSV (.csv); - writes to standard output. A whole store bears its schema, \
            so that an empty store can take it. The file appears whole or not at all.
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

    @Option(help: "jsonl, json or csv; otherwise the file's ending tells.")
    var format: String?

    func run() throws {
        try CommandFailure.shown {
            let format =
                try format.map { try TransferFormat(name: $0) } ?? TransferFormat(path: file)
            guard predicate == nil || className != nil else {
                throw StoreError(.invalidArgument, "--where needs --class")
            }
            let source = try CommandStore.open(store, isReadOnly: true)
            var subject = Exporter.Subject.store(source)
            if let className {
                let all = try source.objects(className)
                subject = .results(try predicate.map { try all.filtered($0) } ?? all)
            }
            let progress = ProgressLine("exported")
            let count = try Exporter(subject, as: format, progress: progress.update)
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
        abstract: "Take the rows of a file into a store.",
        discussion: """
            JSON Lines (.jsonl), JSON (.json) and CSV (.csv); - reads standard input. All or nothing, unless --batch or \
            --skip-bad say otherwise; a bad row is named by its line. A class that the store does not have is made as the \
            file's schema says, else as its first 1,000 rows show.
            """)

    @Argument(
        help: "The store; it is made if it does not exist.",
        completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @Option(name: .customLong("class"), help: "The class of all rows.")
    var className: String?

    @Option(help: "jsonl, json or csv; otherwise the file's ending tells.")
    var format: String?

    @Flag(help: "Update objects whose primary key exists.")
    var upsert = false

    @Option(
        name: .customLong("map"),
        help: "field=property; an empty property leaves the field out. Repeatable.")
    var maps: [String] = []

    @Option(help: "Leave bad rows out and write them, with reasons, to this file.")
    var skipBad: String?

    @Option(help: "Commit after so many rows.")
    var batch: Int?

    @Flag(help: "Do everything but the commit.")
    var dryRun = false

    func run() throws {
        try CommandFailure.shown {
            var options = ImportOptions()
            options.className = className
            options.isUpsert = upsert
            options.rejects = skipBad
            options.batch = batch
            options.isDryRun = dryRun
            for map in maps {
                guard let equals = map.firstIndex(of: "=") else {
                    throw StoreError(.invalidArgument, "--map takes field=property, got '\(map)'")
                }
                options.names[String(map[..<equals])] = String(map[map.index(after: equals)...])
            }
            let format =
                try format.map { try TransferFormat(name: $0) } ?? TransferFormat(path: file)
            let progress = ProgressLine("imported")
            let report = try Importer(
                into: try CommandStore.open(store, isReadOnly: false), options,
                progress: progress.update
            ).read(file, as: format)
            progress.end()
            ProcessServices.writeOutput(Self.summary(report, isDryRun: dryRun))
        }
    }

    private static func summary(_ report: ImportReport, isDryRun: Bool) -> String {
        var lines: [String] = []
        for name in report.newClasses { lines.append("new class \(name)") }
        var counts = ["\(report.created) created", "\(report.updated) updated"]
        if report.rejected > 0 { counts.append("\(report.rejected) left out") }
        lines.append(counts.joined(separator: ", ") + (isDryRun ? " (dry run: nothing kept)" : ""))
        lines += report.reasons.map { "  \($0)" }
        if report.rejected > report.reasons.count { lines.append("  …") }
        return lines.joined(separator: "\n") + "\n"
    }
}
