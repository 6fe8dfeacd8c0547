import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls
import Transfer

/// The command `moonpool stats STORE`.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the contents and space usage of a store.",
        discussion: """
            Prints the number of objects; the bytes of each class, property, collection and index; the history, free pages \
            and version pins. Bytes count stored keys and values; the file is larger because pages are partly full. Other \
            processes can use the store in the meantime.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var realm: RealmOptionGroup

    func run() throws {
        try CommandFailure.shown {
            if try realm.isRealm(store) {
                let report = try RealmReport(store, realm.options)
                return ProcessServices.writeOutput(json ? report.json : report.text)
            }
            let opened = try CommandStore.open(store, isReadOnly: true)
            defer { opened.close() }
            let statistics = try opened.statistics()
            let replication = try ReplicationReport.read(opened)
            ProcessServices.writeOutput(
                json
                    ? StatisticsReport.json(statistics, replication, store)
                    : StatisticsReport.text(statistics, replication, store))
        }
    }
}
