import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Transfer

/// `moonpool stats STORE`.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Tell what is in a store and what takes how much room.",
        discussion: """
            Objects; bytes of each class and property, of collections and indexes; history, free pages, and who holds old \
            versions. Bytes are those of stored keys and values; the file is larger, because pages are not always full. \
            Others may use the store meanwhile.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        try CommandFailure.shown {
            if RealmCopy.isRealm(store) {
                let report = try RealmReport(store, realm.options)
                return ProcessServices.writeOutput(json ? report.json : report.text)
            }
            let opened = try CommandStore.open(store, isReadOnly: true)
            defer { opened.close() }
            let statistics = try opened.statistics()
            ProcessServices.writeOutput(
                json
                    ? StatisticsReport.json(statistics, store)
                    : StatisticsReport.text(statistics, store))
        }
    }
}
