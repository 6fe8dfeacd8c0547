import DataFormats
import Replication
import Synchronization

/// A request that a ``NatsRequestServer`` has received.
package final class NatsRequest: ReceivedRequest, @unchecked Sendable {
    // Unchecked because all properties except the flag are constant, and any thread can send messages with the library.

    package let subject: String
    package let body: [UInt8]
    private let replySubject: String
    private let connection: NatsConnection
    private let isAnswered = Mutex(false)
    private let whenAnswered: @Sendable () -> Void

    init(
        _ message: NatsMessage, _ connection: NatsConnection,
        whenAnswered: @escaping @Sendable () -> Void
    ) {
        subject = message.subject
        body = message.data
        replySubject = message.reply
        self.connection = connection
        self.whenAnswered = whenAnswered
    }

    deinit { refuse(.stopped(subject)) }

    package func checkReply(_ size: Int) throws {
        let limit = connection.messageLimit
        guard size <= limit else {
            throw RequestError(
                "limit_exceeded", "the reply has \(size) bytes, but the NATS server allows \(limit)"
            )
        }
    }

    package func answer(_ body: [UInt8]) { send(body) }

    /// Sends an error instead of a reply, in the headers that services of other NATS clients use, and as JSON.
    package func refuse(_ error: RequestError) {
        var json = JSONWriter()
        json.beginObject()
        for (name, text) in [("code", error.code), ("message", error.message)] {
            json.key(name)
            json.string(text)
        }
        json.endObject()
        send(
            json.bytes,
            headers: [
                (MessageHeader.serviceError, Self.line(error.message)),
                (MessageHeader.serviceErrorCode, Self.line(error.code)),
            ])
    }

    private func send(_ body: [UInt8], headers: [(String, String)] = []) {
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        guard isFirst else { return }
        defer { whenAnswered() }
        guard !replySubject.isEmpty else { return }
        // After the connection has ended, the requester cannot receive a reply.
        try? connection.publish(replySubject, headers: headers, body)
    }

    /// Returns a text on one line, because a header is one line.
    private static func line(_ text: String) -> String {
        String(text.prefix(1000).map { $0.isNewline || $0 == "\0" ? " " : $0 })
    }
}
