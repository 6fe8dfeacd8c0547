import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls

/// The command `moonpool cluster STORE ADDRESS`.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Make a store a member of a cluster, whose writer is replaced.",
        discussion: """
            Run it on each machine, with the same servers and stream. One member holds a lease and publishes; processes of its \
            machine can write to its store. The other stores follow, and writes to them fail with not_writer:

              moonpool cluster zoo.moonpool nats://a,b,c --stream zoo

            If the writer does not renew its lease, the member that has most of the stream becomes the writer. An earlier \
            writer that returns keeps its unpublished commits in the file STORE-lost-N.jsonl, and follows. The first member \
            creates the stream from its store, so start the one with the data first.

            Runs until interrupted, which releases the lease at once. Needs the Debian package libnats3.4.
            """)

    @Argument(
        help: "The store; created if it does not exist.",
        completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "The addresses of NATS servers, separated by commas.")
    var servers: String

    @OptionGroup var nats: NatsOptionGroup

    @Option(
        help:
            "The number of servers that store the stream, if it is created. Default: 3 of 3 servers."
    )
    var replicas: Int?

    @Option(
        help: "The number of seconds without a renewal after which another member takes the lease.")
    var lease = 3.0

    @Option(help: "The name of this member; by default, the names of the machine and the process.")
    var name: String?

    @Option(
        help: "Publish a snapshot after this many commits; followers begin with the newest one.")
    var snapshotEvery = 100_000

    func run() throws {
        ProcessServices.ignorePipeSignal()
        let status = ReplicationStatus()
        ProcessServices.onTermination { signal in
            status.stop()
            // A server that does not respond must not delay the end.
            _ = status.wait(atMost: .seconds(5), until: \.hasEnded)
            UnfinishedFiles.remove()
            StoreFiles.removeUnfinishedCopies()
            ProcessServices.exitNow(128 + signal)
        }
        try ReplicationCommand.shown {
            guard NatsOptions.isAddress(servers) else {
                throw StoreError(
                    .invalidArgument,
                    "expected an address such as nats://host:4222, got '\(NatsOptions(servers).display)'"
                )
            }
            guard (0.5...3600).contains(lease) else {
                throw StoreError(
                    .invalidArgument, "--lease must be a number of seconds from 0.5 to 3600")
            }
            var options = MemberOptions()
            options.replicas = replicas
            options.leaseDuration = .seconds(lease)
            options.name = name
            options.snapshotInterval = max(1, snapshotEvery)
            try NatsJob.join(nats.options(servers), stream: nats.streamName(), options)
                .open(store, status, report: ReplicationCommand.report).run()
        }
    }
}
