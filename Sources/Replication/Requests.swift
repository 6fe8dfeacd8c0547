/// A network that carries requests to services; part of an optional sink of commits.
package protocol RequestNetwork: Sendable {
    /// Returns a client, whose first request opens the connection.
    func client(_ servers: NatsOptions) -> any RequestClient
    /// Starts receiving the requests to a subject on a new thread, which calls the handler.
    ///
    /// `report` receives messages for the user. Throws ``RequestError`` for a subject that is not valid, and
    /// ``ReplicationError`` if the client library is not installed.
    func serve(
        _ servers: NatsOptions, subject: String, report: @escaping @Sendable (String) -> Void,
        handler: @escaping @Sendable (any ReceivedRequest) -> Void
    ) throws -> any RequestServer
}

/// Sends requests to services, from any thread.
package protocol RequestClient: AnyObject, Sendable {
    /// Sends a request; `completion` receives the body of the reply or the error, on another thread, once.
    ///
    /// Errors: `timed_out`, `unavailable` if no server can be reached or no service answers to the subject,
    /// `limit_exceeded` for a body that exceeds the server's limit or a reply that exceeds the script's memory, and
    /// those of the service. Throws `invalid_argument` for a subject that is not valid, and ``ReplicationError`` if the
    /// client library is not installed or no thread can be started.
    func send(
        _ subject: String, body: [UInt8], within limit: Duration,
        completion: @escaping @Sendable (Result<[UInt8], RequestError>) -> Void
    ) throws
    /// Ends the requests that wait for replies, with the error `unavailable`, and the connection.
    func close()
}

/// Receives the requests to a subject.
package protocol RequestServer: AnyObject, Sendable {
    /// Whether the server currently receives requests.
    var isConnected: Bool { get }
    /// The last error; nil if there was none.
    var lastError: String? { get }
    /// Ends the thread, and waits until it no longer calls the handler, unless `waits` is false.
    func stop(waits: Bool)
}

/// A request that a server has received.
///
/// Any thread can answer the request, once. A request that is released without an answer is refused.
package protocol ReceivedRequest: AnyObject, Sendable {
    /// The subject that the requester used.
    var subject: String { get }
    /// The body.
    var body: [UInt8] { get }
    /// Throws `limit_exceeded` if a reply of this size exceeds the server's limit.
    func checkReply(_ size: Int) throws
    /// Sends the reply, whose size is checked.
    ///
    /// A requester that is not connected receives nothing.
    func answer(_ body: [UInt8])
    /// Sends an error instead of a reply.
    func refuse(_ error: RequestError)
}

/// An error that a requester receives instead of a reply.
package struct RequestError: Error, Hashable, CustomStringConvertible {
    /// The code for programs: `timed_out`, `unavailable`, `limit_exceeded`, `invalid_argument`, or the code of the
    /// handler's error.
    package let code: String
    /// The message.
    package let message: String
    /// Whether no service has received the request.
    package let isUnhandled: Bool

    package init(_ code: String, _ message: String, isUnhandled: Bool = false) {
        self.code = code
        self.message = message
        self.isUnhandled = isUnhandled
    }

    /// The error of requests that a service can no longer answer.
    package static func stopped(_ subject: String) -> RequestError {
        RequestError("unavailable", "the service '\(subject)' has stopped")
    }

    /// The message, followed by the code.
    package var description: String { "\(message) (\(code))" }
}

/// Validates the subjects of requests.
package enum RequestSubject {
    /// Throws `invalid_argument` for a text that is not a subject, which consists of words with dots between them.
    ///
    /// A service may use `*` for any word and a last `>` for one or more words.
    package static func check(_ subject: String, allowsWildcards: Bool) throws {
        let words = subject.split(separator: ".", omittingEmptySubsequences: false)
        let isValid = words.enumerated().allSatisfy { index, word in
            guard word != "*" else { return allowsWildcards }
            guard word != ">" else { return allowsWildcards && index == words.count - 1 }
            return !word.isEmpty
                && word.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != 0x2A && $0 != 0x3E }
        }
        guard isValid, subject.utf8.count <= 1000 else {
            throw RequestError(
                "invalid_argument",
                "'\(subject)' is not a valid subject; use words between dots, such as zoo.write")
        }
    }
}
