import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import Replication
import SystemCalls

/// The command `moonpool follow ADDRESS STORE`.
struct FollowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Make a store follow a NATS JetStream stream.",
        discussion: """
            Begins with the newest snapshot of the stream and applies each commit in one transaction, exactly once. Any \
            process can open the store and observe it; writes are refused:

              moonpool follow nats://a,nats://b copy.moonpool \\
                --stream zoo

            Runs until interrupted. When it is started again, it continues where it stopped. If the stream no longer contains \
            the next commits, it loads the newest snapshot. --promote ends following and publishes instead; --detach makes \
            the store an ordinary one. Needs the Debian package libnats3.4.
            """)

    @Argument(help: "The addresses of NATS servers, separated by commas; with --detach, the store.")
    var servers: String

    @Argument(
        help: "The store; created if it does not exist.",
        completion: .file(extensions: ["moonpool"]))
    var store: String?

    @OptionGroup var nats: NatsOptionGroup

    @Flag(help: "Follow up to the last message, and stop.")
    var once = false

    @Flag(help: "Replace a store that has other data or another history.")
    var rebuild = false

    @Flag(help: "Follow up to the last message, and publish from then on; the old publisher stops.")
    var promote = false

    @Flag(help: "Stop following; the store becomes an ordinary store.")
    var detach = false

    func run() throws {
        CommandInterruption.begin()
        ProcessServices.ignorePipeSignal()
        try ReplicationCommand.shown {
            guard !detach else {
                let path = store ?? servers
                try StoreFiles.requireStore(path)
                return try ReplicationRecord.detach(path)
            }
            guard let store else {
                throw StoreError(.invalidArgument, "specify the store that follows")
            }
            guard NatsOptions.isAddress(servers) else {
                throw StoreError(
                    .invalidArgument,
                    "expected an address such as nats://host:4222, got '\(NatsOptions(servers).display)'"
                )
            }
            let stream = try nats.streamName()
            var options = FollowerOptions()
            options.failsFast = nats.failFast
            options.stopsAtEnd = once || promote
            options.rebuilds = rebuild
            let follower = try NatsJob.follow(nats.options(servers), stream: stream, options)
                .open(store, report: ReplicationCommand.report)
            try follower.run()
            let end = follower.status.snapshot
            follower.close()
            guard promote else {
                return ProcessServices.writeOutput(
                    "followed up to version \(end.version), message \(end.sequence)\n")
            }
            var publishing = PublisherOptions()
            publishing.takeover = .promotion
            publishing.failsFast = nats.failFast
            publishing.stopsAtEnd = once
            try NatsJob.publish(nats.options(servers), stream: stream, publishing)
                .open(store, report: ReplicationCommand.report).run()
        }
    }
}
