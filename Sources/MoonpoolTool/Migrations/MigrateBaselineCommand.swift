import ArgumentParser
import ScriptHost

/// `moonpool migrate baseline STORE --dir DIR`.
struct MigrateBaselineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "baseline",
        abstract: "Record migrations as applied without running them.",
        discussion: """
            For a store that has their schema already, because a program has migrated it or because it was there before the \
            folder. It must have the schema that the last of them says; its objects are not touched.
            """)

    @OptionGroup var place: MigrationPlace

    @Option(
        help:
            "The number of the migration that the store is at; otherwise its schema version tells.")
    var to: Int?

    func run() throws {
        let (place, to) = (place, to)
        let notice = WaitNotice(place.store)
        MigrationSession.run(json: place.json, notice: notice) { context in
            let runner = try place.runner(context, notice)
            let report = try runner.baseline(to: to)
            return .init(report: report, lines: MigrationText.baseline(report))
        }
    }
}
