import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls
import Transfer

/// The command `moonpool publish STORE ADDRESS`.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish the commits of a store to NATS JetStream or PostgreSQL.",
        discussion: """
            Each commit of any process becomes a message, in order and exactly once; large ones are split. Commits in quick \
            succession can become one message. The stream is created if it does not exist, and begins with a snapshot. \
            Servers of a cluster are separated by commas:

              moonpool publish zoo.moonpool nats://a,nats://b \\
                --stream zoo --replicas 3

            Tables of a PostgreSQL database are kept up to date in the same way: each step is one transaction, which also \
            records the version. The tables are those of `moonpool export`:

              moonpool publish zoo.moonpool postgres://me@host/zoo \\
                --schema animals

            Runs until interrupted. When it is started again, it continues where the stream ends. If a server cannot be \
            reached, it tries again. A second publisher stops with an error. Needs the Debian package libnats3.4 or libpq5.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help:
            "Addresses of NATS servers, separated by commas: nats://host:4222; or of a database: postgres://host/name."
    )
    var servers: String

    @OptionGroup var nats: NatsOptionGroup

    @Option(help: "The number of servers of a cluster that store the stream, if it is created.")
    var replicas = 1

    @Option(
        help: "Publish a snapshot after this many commits; followers begin with the newest one.")
    var snapshotEvery = 100_000

    @Option(help: "The schema of a PostgreSQL database that holds the tables. Default: public.")
    var schema: String?

    @Flag(help: "Replace existing tables of a PostgreSQL database.")
    var replace = false

    @Flag(help: "Publish the new commits, and stop.")
    var once = false

    @Flag(
        help:
            "Become the publisher with all objects of the store; commits that the store does not have are dropped."
    )
    var adopt = false

    func run() throws {
        CommandInterruption.begin()
        ProcessServices.ignorePipeSignal()
        try ReplicationCommand.shown {
            if PostgresAddress.isAddress(servers) { return try publishToPostgres() }
            guard schema == nil, !replace else {
                throw StoreError(
                    .invalidArgument, "--schema and --replace are for PostgreSQL databases")
            }
            guard NatsOptions.isAddress(servers) else {
                throw StoreError(
                    .invalidArgument,
                    "expected an address such as nats://host:4222 or postgres://host/name, got '\(NatsOptions(servers).display)'"
                )
            }
            try StoreFiles.requireStore(store)
            let stream = try nats.streamName()
            var options = PublisherOptions()
            options.takeover = adopt ? .adoption : nil
            options.replicas = replicas
            options.failsFast = nats.failFast
            options.stopsAtEnd = once
            options.snapshotInterval = max(1, snapshotEvery)
            let publisher = try NatsJob.publish(
                nats.options(servers), stream: stream, options
            ).open(store, report: ReplicationCommand.report)
            try publisher.run()
            let end = publisher.status.snapshot
            ProcessServices.writeOutput(
                "published up to version \(end.version), message \(end.sequence)\n")
        }
    }

    private func publishToPostgres() throws {
        guard nats.stream == nil else {
            throw StoreError(
                .invalidArgument, "--stream is for NATS; name the tables' schema with --schema")
        }
        try StoreFiles.requireStore(store)
        var options = DatabaseOptions()
        options.schema = schema ?? options.schema
        options.replaces = replace
        options.adopts = adopt
        options.failsFast = nats.failFast
        options.stopsAtEnd = once
        let publisher = try DatabaseJob(servers, options)
            .open(store, report: ReplicationCommand.report)
        try publisher.run()
        let end = publisher.status.snapshot
        ProcessServices.writeOutput("published up to version \(end.version)\n")
    }
}
