import DataFormats
import MemoryAccounts
import Replication
import Synchronization
import SystemCalls
import Transfer

/// Sends requests to services through NATS servers, and waits for the replies on its own threads.
///
///     let client = NatsRequestClient(NatsOptions("nats://localhost:4222"))
///     try client.send("zoo.write", body: Array("[1]".utf8), within: .seconds(5)) { result in … }
///
/// The first request opens the connection; later requests reuse it.
package final class NatsRequestClient: RequestClient {
    private let servers: NatsOptions
    private let connection = Mutex<Shared?>(nil)
    private let isClosed = Atomic(false)

    /// A connection that several threads use.
    private struct Shared: @unchecked Sendable {
        // Unchecked because any thread can send messages with the library, and each subscription belongs to one thread.
        let connection: NatsConnection
    }

    package init(_ servers: NatsOptions) { self.servers = servers }

    package func send(
        _ subject: String, body: [UInt8], within limit: Duration,
        completion: @escaping @Sendable (Result<[UInt8], RequestError>) -> Void
    ) throws {
        try send(subject, body: body, within: limit, account: .current, completion: completion)
    }

    /// Sends a request whose reply must fit into a memory account.
    package func send(
        _ subject: String, body: [UInt8], within limit: Duration, account: MemoryAccount?,
        completion: @escaping @Sendable (Result<[UInt8], RequestError>) -> Void
    ) throws {
        try RequestSubject.check(subject, allowsWildcards: false)
        _ = try NatsLibrary.functions()
        let code = DetachedThread.start { [self] in
            ThreadIdentity.nameCurrent("moonpool-request")
            completion(result(of: subject, body: body, within: limit, account: account))
        }
        guard code == 0 else {
            throw ReplicationError.fatal("the system cannot start a thread: error \(code)")
        }
    }

    package func close() {
        isClosed.store(true, ordering: .releasing)
        connection.withLock { $0 = nil }
    }

    private func result(
        of subject: String, body: [UInt8], within limit: Duration, account: MemoryAccount?
    ) -> Result<[UInt8], RequestError> {
        let deadline = ContinuousClock.now + limit
        do {
            let shared = try connect(within: limit)
            let reply = try reply(
                to: subject, body: body, over: shared.connection, deadline: deadline, limit: limit)
            // The reply exists in this array, and will soon exist in the script too.
            if let account, !account.hasSpace(for: reply.count) {
                throw RequestError(
                    "limit_exceeded",
                    "the reply has \(reply.count) bytes, but the script does not have that much memory left"
                )
            }
            return .success(reply)
        } catch let error as RequestError {
            return .failure(error)
        } catch {
            connection.withLock { if $0?.connection.isOpen == false { $0 = nil } }
            return .failure(RequestError("unavailable", "\(error)"))
        }
    }

    private func connect(within limit: Duration) throws -> Shared {
        if let known = connection.withLock({ $0 }), known.connection.isOpen { return known }
        // Runs without the lock, because other requests have their own time limits.
        let created = Shared(
            connection: try NatsConnection(servers, within: min(limit, .seconds(5))))
        return connection.withLock { known in
            if let known, known.connection.isOpen { return known }
            if !isClosed.load(ordering: .acquiring) { known = created }
            return created
        }
    }

    private func reply(
        to subject: String, body: [UInt8], over connection: NatsConnection,
        deadline: ContinuousClock.Instant, limit: Duration
    ) throws -> [UInt8] {
        guard body.count <= connection.messageLimit else {
            throw RequestError(
                "limit_exceeded",
                "the request has \(body.count) bytes, but the NATS server allows \(connection.messageLimit)"
            )
        }
        let inbox = try connection.makeInbox()
        let replies = try connection.subscribe(inbox)
        try connection.publish(subject, reply: inbox, body)
        while true {
            let left = deadline - .now
            guard left > .zero else {
                throw RequestError(
                    "timed_out",
                    "the service '\(subject)' did not reply within \(limit.shownSeconds) s; it may still handle the request later"
                )
            }
            guard !isClosed.load(ordering: .acquiring) else {
                throw RequestError("unavailable", "the script has ended")
            }
            guard let message = try replies.next(within: min(max(left.milliseconds, 1), 100)) else {
                continue
            }
            if message.headers(MessageHeader.status) == "503" {
                throw RequestError(
                    "unavailable", "no service answers requests to '\(subject)'", isUnhandled: true)
            }
            if let error = Self.error(message) { throw error }
            return message.data
        }
    }

    /// Returns the error that a service has sent; nil for a reply.
    private static func error(_ message: NatsMessage) -> RequestError? {
        guard let text = message.headers(MessageHeader.serviceError) else { return nil }
        let code = message.headers(MessageHeader.serviceErrorCode) ?? "error"
        // The body contains the whole message, if a Moonpool service sent it.
        let whole = (try? JSONAnswer(message.data))?.text("message") ?? ""
        return RequestError(code, whole.isEmpty ? text : whole)
    }
}

extension Duration {
    /// Formats seconds for messages: `5`, `0.25`.
    fileprivate var shownSeconds: String {
        let whole = milliseconds / 1000
        let part = milliseconds % 1000
        guard part > 0 else { return "\(whole)" }
        var digits = String(part)
        while digits.count < 3 { digits = "0" + digits }
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits)"
    }
}
