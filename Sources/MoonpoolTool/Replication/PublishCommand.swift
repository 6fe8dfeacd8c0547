import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication

/// `moonpool publish STORE ADDRESS`.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish the commits of a store to a NATS JetStream stream.",
        discussion: """
            Each commit of any process becomes a message, in order and exactly once; large ones are split. Commits in quick \
            succession can become one message. The stream is created if it does not exist, and begins with a snapshot. \
            Servers of a cluster are separated by commas:

              moonpool publish zoo.moonpool nats://a:4222,nats://b:4222 --stream zoo --replicas 3

            Runs until interrupted, and continues where the stream ends when it is started again. A server that cannot be \
            reached is tried again. A second publisher of a stream stops with an error. Needs the Debian package libnats3.4.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The addresses of NATS servers, separated by commas: nats://host:4222.")
    var servers: String

    @OptionGroup var nats: NatsOptionGroup

    @Option(help: "How many servers of a cluster keep the stream, if it is created.")
    var replicas = 1

    @Option(
        help: "Publish a snapshot after this many commits; followers begin with the newest one.")
    var snapshotEvery = 100_000

    @Flag(help: "Publish what is new, and stop.")
    var once = false

    @Flag(
        help:
            "Begin a new lineage: the store is a copy or a backup of one that no longer publishes.")
    var newLineage = false

    func run() throws {
        CommandInterruption.begin()
        ProcessServices.ignorePipeSignal()
        try ReplicationCommand.shown {
            guard NatsOptions.isAddress(servers) else {
                throw StoreError(
                    .invalidArgument,
                    "expected an address such as nats://host:4222, got '\(servers)'")
            }
            try StoreFiles.requireStore(store)
            let stream = try nats.streamName()
            if newLineage { try Publisher.beginLineage(store, stream) }
            var options = Publisher.Options()
            options.replicas = replicas
            options.failsFast = nats.failFast
            options.stopsAtEnd = once
            options.snapshotInterval = max(1, snapshotEvery)
            let publisher = try Publisher(
                store, nats.options(servers), stream: stream, options: options,
                report: ReplicationCommand.report)
            try publisher.run()
            let end = publisher.status.snapshot
            ProcessServices.writeOutput(
                "published up to version \(end.version), message \(end.sequence)\n")
        }
    }
}
