import MemoryAccounts
import Replication
import Synchronization
import SystemCalls

/// Receives the requests to a NATS subject on its own thread.
///
///     let server = try NatsRequestServer(NatsOptions("nats://localhost:4222"), subject: "zoo.write") { request in
///         request.answer(Array("true".utf8))
///     }
///     server.stop()
///
/// Each request is received by only one of the servers of a subject. If no NATS server can be reached, a request server
/// tries again until ``stop()``.
package final class NatsRequestServer: RequestServer {
    /// The subject, which may have wildcards.
    package let subject: String
    private let servers: NatsOptions
    private let status = ReplicationStatus()
    private let handler: @Sendable (NatsRequest) -> Void
    private let report: @Sendable (String) -> Void
    private struct Waiting {
        var count = 0
        var bytes = 0
    }
    /// The requests that are not answered yet.
    private let unanswered = Mutex(Waiting())
    /// The maximum number of bytes of the unanswered requests, and of the requests that wait in the client library.
    private let byteWindow: Int

    /// The maximum number of unanswered requests; further requests wait in the client library, which drops requests
    /// beyond its limit.
    private static let window = 256
    private static let byteWindow = 64 << 20
    /// Services of other NATS clients are members of this group too.
    private static let group = "q"

    /// Starts the thread, which calls the handler for each request.
    ///
    /// `report` receives messages for the user. Throws
    /// ``RequestError`` for a subject that is not valid, and ``ReplicationError`` if the client library is not
    /// installed.
    package init(
        _ servers: NatsOptions, subject: String, account: MemoryAccount? = .current,
        report: @escaping @Sendable (String) -> Void = { _ in },
        handler: @escaping @Sendable (NatsRequest) -> Void
    ) throws {
        try RequestSubject.check(subject, allowsWildcards: true)
        _ = try NatsLibrary.functions()
        self.servers = servers
        self.subject = subject
        byteWindow = account.map { $0.limit / 8 } ?? Self.byteWindow
        self.handler = handler
        self.report = report
        let code = DetachedThread.start { [self] in
            ThreadIdentity.nameCurrent("moonpool-serve")
            serve()
            status.update {
                $0.isConnected = false
                $0.hasEnded = true
            }
        }
        guard code == 0 else {
            throw ReplicationError.fatal("the system cannot start a thread: error \(code)")
        }
    }

    package var isConnected: Bool { status.snapshot.isConnected }

    package var lastError: String? { status.snapshot.lastError?.message }

    package func stop(waits: Bool = true) {
        status.stop()
        guard waits else { return }
        status.wait(atMost: .seconds(15), until: \.hasEnded)
    }

    private var hasSpace: Bool {
        unanswered.withLock { $0.count < Self.window && $0.bytes < byteWindow }
    }

    private func serve() {
        var pause = BackOff()
        while !status.isStopping {
            do {
                try receive(&pause)
            } catch {
                let milliseconds = pause.next()
                status.record("\(error)")
                report("\(error); trying again in \(milliseconds) ms")
                status.rest(atMost: .milliseconds(milliseconds))
            }
        }
    }

    /// Returns the next request; nil if none arrives in this time, or requests were dropped.
    private func next(
        _ requests: NatsSubscription, within milliseconds: Int64
    ) throws -> NatsMessage? {
        do {
            return try requests.next(within: milliseconds)
        } catch is NatsMessagesDropped {
            // The connection works, and the requests that wait in the library are not lost.
            let problem =
                "requests to '\(subject)' were dropped because too many were waiting; their senders receive timed_out"
            status.record(problem)
            report(problem)
            return nil
        }
    }

    /// Receives requests over one connection.
    private func receive(_ pause: inout BackOff) throws {
        let connection = try NatsConnection(servers)
        let requests = try connection.subscribe(
            subject, group: Self.group, byteLimit: byteWindow)
        try connection.flush()
        pause.reset()
        status.recordConnection()
        while !status.isStopping {
            guard hasSpace else {
                status.pause(atMost: .milliseconds(100))
                continue
            }
            guard let message = try next(requests, within: 100) else { continue }
            let bytes = message.data.count
            unanswered.withLock {
                $0.count += 1
                $0.bytes += bytes
            }
            let request = NatsRequest(message, connection) { [self] in
                let wasFull = !hasSpace
                unanswered.withLock {
                    assert($0.count > 0 && $0.bytes >= bytes, "a request is answered once")
                    $0.count -= 1
                    $0.bytes -= bytes
                }
                if wasFull { status.signal() }
            }
            handler(request)
        }
        try requests.end()
        // Without a reply, the senders would wait until their time limits.
        while let message = try? next(requests, within: 1) {
            NatsRequest(message, connection) {}.refuse(.stopped(subject))
        }
        // Sends the remaining replies to the server.
        try connection.flush()
    }
}
