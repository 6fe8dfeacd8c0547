import Synchronization
import SystemCalls

/// Receives the requests to a NATS subject on its own thread.
///
///     let server = try RequestServer(NatsOptions("nats://localhost:4222"), subject: "zoo.write") { request in
///         request.answer(Array("true".utf8))
///     }
///     server.stop()
///
/// Each request is received by only one of the servers of a subject. If no NATS server can be reached, it tries again
/// until ``stop()``.
package final class RequestServer: Sendable {
    /// The subject, which may have wildcards.
    package let subject: String
    private let servers: NatsOptions
    private let status = ReplicationStatus()
    private let handler: @Sendable (ReceivedRequest) -> Void
    private let report: @Sendable (String) -> Void
    /// The requests that are not answered yet.
    private let unanswered = Mutex(0)

    /// The maximum number of unanswered requests; further requests wait in the client library.
    private static let window = 256
    /// Services of other NATS clients use the same group.
    private static let group = "q"

    /// Starts the thread, which calls the handler for each request.
    ///
    /// `report` receives messages about errors and connections. Throws ``RequestError`` for a subject that is not
    /// valid, and ``ReplicationError`` if the client library is not installed.
    package init(
        _ servers: NatsOptions, subject: String,
        report: @escaping @Sendable (String) -> Void = { _ in },
        handler: @escaping @Sendable (ReceivedRequest) -> Void
    ) throws {
        try RequestSubject.check(subject, allowsWildcards: true)
        _ = try NatsLibrary.functions()
        self.servers = servers
        self.subject = subject
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

    /// Whether the server currently receives requests.
    package var isConnected: Bool { status.snapshot.isConnected }

    /// The last error; nil if there was none.
    package var lastError: String? { status.snapshot.lastError?.message }

    /// Ends the thread, and waits until it no longer calls the handler.
    package func stop() {
        status.stop()
        status.wait(atMost: .seconds(15), until: \.hasEnded)
    }

    private func serve() {
        var pause = BackOff()
        while !status.isStopping {
            do {
                try receive(&pause)
            } catch {
                let milliseconds = pause.next()
                status.note("\(error)")
                report("\(error); trying again in \(milliseconds) ms")
                status.rest(atMost: .milliseconds(milliseconds))
            }
        }
    }

    /// Receives requests over one connection.
    private func receive(_ pause: inout BackOff) throws {
        let connection = try NatsConnection(servers)
        let requests = try connection.subscribe(subject, group: Self.group)
        try connection.flush()
        pause.reset()
        status.noteConnection()
        while !status.isStopping {
            guard unanswered.withLock({ $0 < Self.window }) else {
                status.pause(atMost: .milliseconds(100))
                continue
            }
            guard let message = try requests.next(within: 100) else { continue }
            unanswered.withLock { $0 += 1 }
            let request = ReceivedRequest(message, connection) { [self] in
                let wasFull = unanswered.withLock { count in
                    count -= 1
                    return count == Self.window - 1
                }
                if wasFull { status.signal() }
            }
            handler(request)
        }
        try requests.end()
        // Without a reply, the senders would wait until their time limits.
        while let message = try? requests.next(within: 1) {
            ReceivedRequest(message, connection) {}.refuse(.stopped(subject))
        }
        // Sends the remaining replies to the server.
        try connection.flush()
    }
}
