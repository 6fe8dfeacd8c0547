import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import SystemCalls
import Transfer

/// The command `moonpool watch STORE [QUERY]`: prints changes.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the changes to a store until interrupted.",
        discussion: """
            Prints the commits of all processes: each object with its primary key, and each changed property with its old \
            and new value. Several commits can appear as one. With a query, prints only objects that enter, leave or \
            change within its results:

              moonpool watch zoo.moonpool 'Dog where age > 3'

            --json prints JSON Lines in the format of store:record. Without a query, moonpool.replay can read them; with \
            --snapshot, into an empty store. The exit code is 0 after Ctrl-C, SIGTERM or a closed output pipe, and 1 after an error.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "A class, optionally with 'where' and a predicate.")
    var query: String?

    @Flag(help: "Print JSON Lines.")
    var json = false

    @Flag(help: "Print all objects first; requires --json.")
    var snapshot = false

    @Flag(help: "Omit the values before a change; requires --json.")
    var noOldValues = false

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        let status = try CommandFailure.shown {
            guard json || !snapshot && !noOldValues else {
                throw StoreError(
                    .invalidArgument,
                    "add --json: --snapshot and --no-old-values are for JSON Lines")
            }
            guard query == nil || !snapshot else {
                throw StoreError(
                    .invalidArgument, "--snapshot prints the whole store; omit the query")
            }
            try StoreFiles.requireStore(store)
            return try WatchSession(self).run()
        }
        ProcessServices.exit(status)
    }
}

/// A running `moonpool watch`, with one event loop on the main thread.
private final class WatchSession {
    private let loop: EventLoop
    private let followed: FollowedStore
    private var store: Store { followed.store }
    private let path: String
    private let isJSON: Bool
    private let results: Results?
    private let beginsWithSnapshot: Bool
    private var lines: ChangeLines
    private var tokens: [NotificationToken] = []
    private var status: Int32 = 0

    init(_ command: WatchCommand) throws {
        path = command.store
        isJSON = command.json
        beginsWithSnapshot = command.snapshot
        lines = ChangeLines(oldValues: !command.noOldValues)
        loop = try EventLoop()
        loop.attach()
        // Watching all changes requires no write access; a query is observed like the queries of a script.
        followed = try FollowedStore(
            StoreConfiguration(
                .file(path), schemaVersion: command.version.schemaVersion,
                isReadOnly: command.query == nil), on: loop)
        results = try command.query.map { [followed] text in
            guard let query = ClassQuery(text) else {
                throw StoreError(
                    .invalidArgument,
                    "the query is empty; pass a class name, or omit the query to watch all changes")
            }
            return try query.results(in: followed.store)
        }
    }

    /// Runs until interrupted.
    ///
    /// Returns the exit code.
    func run() throws -> Int32 {
        ProcessServices.ignorePipeSignal()
        let watches = try [Int32(2), 15].map { signal in
            try SignalWatch(signal, on: loop) { [loop] in loop.stop() }
        }
        let reader = loop.timer(after: .milliseconds(500), every: .milliseconds(500)) {
            [weak self] in
            if ProcessServices.isOutputClosed { self?.loop.stop() }
        }
        store.notifications.errorHandler = { [weak self] error, _ in self?.fail(error) }
        try observe()
        if isJSON, beginsWithSnapshot {
            try lines.snapshot(store.view, write)
        } else if isJSON {
            write(try lines.header(store.view))
        } else {
            write(["\(path) at version \(store.version)"])
        }
        loop.run()
        reader.cancel()
        for watch in watches { watch.cancel() }
        tokens = []
        followed.close()
        return status
    }

    private func observe() throws {
        guard let results else {
            tokens = [
                try store.observeChanges { [unowned self] change in
                    try show(ChangedObjects(change))
                }
            ]
            return
        }
        let name = try results.classSchema().name
        tokens = [
            try store.observe(results.query) { [unowned self] change in
                if case .error(let error) = change.kind { return fail(error) }
                let classSchema = try store.schema.require(name)
                // The initial notification prints nothing.
                try ChangedObjects(change, classSchema, in: store.view).map(show)
            }
        ]
        try store.refresh()
    }

    private func show(_ step: ChangedObjects) throws {
        if isJSON { try lines.write(step, write) } else { write(try step.text) }
    }

    private func write(_ lines: [String]) {
        let text = lines.map { ControlCharacters.escaped($0, onOneLine: true) + "\n" }.joined()
        write(Array(text.utf8))
    }

    private func write(_ bytes: [UInt8]) {
        if !ProcessServices.output(bytes) { loop.stop() }
    }

    private func fail(_ error: any Error) {
        // Several handlers can fail with the same error, which is reported once.
        guard status == 0 else { return }
        ProcessServices.writeError(
            "moonpool: \((error as? StoreError)?.scriptMessage ?? "\(error)")\n")
        status = 1
        loop.stop()
    }
}
