import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import Transfer

/// `moonpool watch STORE [QUERY]`: prints what changes.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print what changes in a store, until interrupted.",
        discussion: """
            Shows the commits of all processes, each object with its primary key, and what was set with the values before \
            and after. Several commits may be shown as one. With a query only objects that come into it, leave it or \
            change in it:

              moonpool watch zoo.moonpool 'Dog where age > 3'

            --json prints JSON Lines in the format of store:record, which moonpool.replay understands when there is no \
            query. Ctrl-C, SIGTERM and the end of whoever reads the output end it with exit code 0; what goes wrong with \
            exit code 1.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(help: "A class, perhaps with 'where' and a predicate.")
    var query: String?

    @Flag(help: "Print JSON Lines.")
    var json = false

    func run() throws {
        let status = try CommandFailure.shown {
            try CommandStore.requireFile(store)
            return try WatchSession(store, query, isJSON: json).run()
        }
        ProcessServices.exit(status)
    }
}

/// A running `moonpool watch`: one loop on the main thread.
private final class WatchSession {
    private let loop: EventLoop
    private let followed: FollowedStore
    private var store: Store { followed.store }
    private let path: String
    private let isJSON: Bool
    private let results: Results?
    private var lines = ChangeLines()
    private var tokens: [NotificationToken] = []
    private var status: Int32 = 0

    init(_ path: String, _ query: String?, isJSON: Bool) throws {
        self.path = path
        self.isJSON = isJSON
        loop = try EventLoop()
        loop.attach()
        // Whoever watches everything never writes; queries are observed like those of a script.
        followed = try FollowedStore(
            StoreConfiguration(.file(path), isReadOnly: query == nil), on: loop)
        results = try query.map { [followed] text in
            guard let query = ClassQuery(text) else {
                throw StoreError(
                    .invalidArgument,
                    "the query is empty; name a class, or leave the query out for all changes")
            }
            return try query.results(in: followed.store)
        }
    }

    /// Runs until it is interrupted; the exit code.
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
        if isJSON {
            write(lines.header(store.view))
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
                    if isJSON {
                        write(try lines.lines(for: change))
                    } else {
                        write(try ChangeText.lines(for: change))
                    }
                }
            ]
            return
        }
        let name = try results.classSchema().name
        tokens = [
            try store.observe(results.query) { [unowned self] change in
                if case .error(let error) = change.kind { return fail(error) }
                let classSchema = try store.schema.require(name)
                if isJSON {
                    write(try lines.lines(for: change, classSchema, in: store.view))
                } else {
                    write(try ChangeText.lines(for: change, classSchema, in: store.view))
                }
            }
        ]
        // The first call says nothing that would be printed.
        try store.refresh()
    }

    private func write(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        write(Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    private func write(_ bytes: [UInt8]) {
        if !ProcessServices.output(bytes) { loop.stop() }
    }

    private func fail(_ error: any Error) {
        // What ends the first handler may end the others as well.
        guard status == 0 else { return }
        ProcessServices.writeError(
            "moonpool: \((error as? StoreError)?.message ?? "\(error)")\n")
        status = 1
        loop.stop()
    }
}
