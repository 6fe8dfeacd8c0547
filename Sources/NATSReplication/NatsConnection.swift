import CNATS
import DataFormats
import Replication
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The NATS client library, which is loaded by the first connection of a program.
enum NatsLibrary {
    private struct Loaded: @unchecked Sendable {
        // Written once, before other threads can access it.
        let functions: NatsFunctions?
    }

    private static let loaded: Loaded = {
        var functions = NatsFunctions()
        return Loaded(functions: nats_load(&functions) ? functions : nil)
    }()

    /// Whether the library is installed.
    static var isInstalled: Bool { loaded.functions != nil }

    /// Returns the functions of the library.
    ///
    /// Throws `ReplicationError.fatal` with the package to install.
    static func functions() throws -> NatsFunctions {
        guard let functions = loaded.functions else {
            throw ReplicationError.fatal(
                "replication needs the library libnats; install the Debian package libnats3.4, as in: "
                    + "apt-get install libnats3.4")
        }
        return functions
    }
}

extension NatsOptions {
    /// Whether the client library is installed.
    package static var isAvailable: Bool { NatsLibrary.isInstalled }
}

/// A NATS message.
struct NatsMessage {
    let subject: String
    let reply: String
    let headers: (String) -> String?
    let data: [UInt8]

    /// Whether this is the server's reply to a message whose subject has no subscriber.
    static var noResponders: NatsMessage {
        NatsMessage(
            subject: "", reply: "", headers: { $0 == MessageHeader.status ? "503" : nil }, data: [])
    }
}

/// A connection to a NATS server.
///
/// It does not reconnect automatically, so that its user receives an error when messages may have been lost.
/// Subscriptions are confined to one thread; the library lets any thread send messages.
final class NatsConnection {
    private let functions: NatsFunctions
    private let handle: OpaquePointer
    /// Subscriptions that have ended but are not destroyed yet.
    ///
    /// Before release 3.6.1, the library's thread that reads from the server may use a subscription while another
    /// thread destroys it. Subscriptions are therefore destroyed after that thread has received a later message or has
    /// ended.
    private let ended = Mutex<[UInt]>([])
    private static let endedLimit = 64

    /// Connects within a time limit for each server.
    ///
    /// Throws `temporary` if no server can be reached, and `fatal` for options that the library rejects.
    init(_ options: NatsOptions, within limit: Duration = .seconds(5)) throws {
        functions = try NatsLibrary.functions()
        handle = try Self.connect(options, limit, functions)
    }

    private static func connect(
        _ options: NatsOptions, _ limit: Duration, _ functions: NatsFunctions
    ) throws -> OpaquePointer {
        var created: OpaquePointer?
        guard functions.options_create(&created) == 0, let settings = created else {
            throw ReplicationError.fatal("not enough memory")
        }
        defer { functions.options_destroy(settings) }
        try apply(options, to: settings, functions)
        _ = functions.options_set_timeout(settings, max(limit.milliseconds, 1))
        var connection: OpaquePointer?
        var status = functions.connect(&connection, settings)
        // libnats 3.4.1 signs about 3 of 1,000 challenges wrongly, and each connection has another challenge.
        for _ in 0..<2 where status == refused && options.credentials != nil {
            status = functions.connect(&connection, settings)
        }
        guard status == 0, let connection else {
            let address = options.display
            guard status != refused else {
                throw ReplicationError.fatal(
                    "\(address) refused the client: check user and password, token or credentials")
            }
            let reason = details(of: status, functions)
            throw ReplicationError.temporary("cannot connect to \(address): \(reason)")
        }
        return connection
    }

    /// Returns the library's description of the last error of the thread, such as the name of an invalid certificate.
    private static func details(of status: Int32, _ functions: NatsFunctions) -> String {
        let text = text(of: status, functions)
        var code: Int32 = 0
        guard let details = functions.last_error(&code), code == status else { return text }
        // The text begins with a source location of the library: `(conn.c:2088): `.
        let whole = String(cString: details)
        let end = whole.hasPrefix("(") ? whole.firstRange(of: "): ")?.upperBound : nil
        let reason = whole[(end ?? whole.startIndex)...]
        return reason.isEmpty || reason == text ? text : "\(text): \(reason)"
    }

    deinit {
        functions.close(handle)
        destroy(ended.withLock { $0 })
        functions.destroy(handle)
    }

    /// Returns the library's message for a status.
    private static func text(of status: Int32, _ functions: NatsFunctions) -> String {
        functions.status_text(status).map { String(cString: $0) } ?? "status \(status)"
    }

    private static func apply(
        _ options: NatsOptions, to settings: OpaquePointer, _ functions: NatsFunctions
    ) throws {
        func check(_ status: Int32, _ what: String) throws {
            guard status != 0 else { return }
            throw ReplicationError.fatal("\(what): \(details(of: status, functions))")
        }
        var copies = options.servers.map { UnsafePointer(strdup($0)) as UnsafePointer<CChar>? }
        defer { copies.forEach { free(UnsafeMutableRawPointer(mutating: $0)) } }
        try check(
            functions.options_set_servers(settings, &copies, Int32(copies.count)),
            "invalid address \(options.display)")
        _ = functions.options_set_name(settings, "moonpool")
        _ = functions.options_set_ping_interval(settings, 5000)
        _ = functions.options_set_allow_reconnect(settings, false)
        if let file = options.credentials {
            try check(
                functions.options_set_credentials(settings, file, nil), "credentials '\(file)'")
        }
        if let token = try secret(options.token, options.tokenFile) {
            try check(functions.options_set_token(settings, token), "token")
        }
        if let user = options.user {
            let password = try secret(options.password, options.passwordFile) ?? ""
            try check(functions.options_set_user(settings, user, password), "user")
        }
        if options.authority != nil || options.certificate != nil {
            try check(functions.options_set_secure(settings, true), "TLS")
        }
        if let file = options.authority {
            try check(functions.options_load_authority(settings, file), "certificates '\(file)'")
        }
        if let certificate = options.certificate {
            try check(
                functions.options_load_certificate(settings, certificate.file, certificate.key),
                "certificate '\(certificate.file)'")
        }
    }

    /// Returns a secret, or the first line of the file that contains it.
    ///
    /// Throws `fatal` for a file that cannot be read.
    private static func secret(_ text: String?, _ file: String?) throws -> String? {
        guard let file else { return text }
        do throws(UnreadFile) {
            let bytes = try ProcessServices.readWhole(file, limit: 64 << 10)
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            return String(decoding: line, as: UTF8.self)
        } catch {
            throw ReplicationError.fatal("cannot read '\(file)': \(error.reason)")
        }
    }

    /// The maximum size of a message in bytes.
    var messageLimit: Int { Int(functions.max_payload(handle)) }

    private func check(_ status: Int32) throws {
        guard status != 0 else { return }
        throw ReplicationError.temporary(
            "the connection to NATS failed: \(Self.text(of: status, functions))")
    }

    // MARK: Sending

    /// Sends a message.
    func publish(
        _ subject: String, reply: String? = nil, headers: [(String, String)] = [],
        _ data: [UInt8] = []
    ) throws {
        var created: OpaquePointer?
        let status = data.withUnsafeBytes { bytes in
            functions.message_create(
                &created, subject, reply, bytes.assumingMemoryBound(to: CChar.self).baseAddress,
                Int32(bytes.count))
        }
        try check(status)
        guard let message = created else { return }
        defer { functions.message_destroy(message) }
        for (name, value) in headers { try check(functions.header_set(message, name, value)) }
        try check(functions.publish(handle, message))
    }

    /// Sends the buffered messages, and waits until the server has received them.
    func flush() throws { try check(functions.flush(handle, 5000)) }

    /// Sends a request and waits for the answer.
    func request(
        _ subject: String, _ body: String, within limit: Duration = .seconds(5)
    ) throws -> [UInt8] {
        var created: OpaquePointer?
        let body = Array(body.utf8)
        let status = body.withUnsafeBytes { bytes in
            functions.request(
                &created, handle, subject, bytes.baseAddress, Int32(bytes.count), limit.milliseconds
            )
        }
        try check(status)
        guard let message = created else { return [] }
        defer { functions.message_destroy(message) }
        return data(of: message)
    }

    // MARK: Receiving

    /// Returns an inbox: a unique subject for replies to this connection.
    func makeInbox() throws -> String {
        var created: UnsafeMutablePointer<CChar>?
        try check(functions.inbox_create(&created))
        guard let created else { return "" }
        defer { functions.inbox_destroy(created) }
        return String(cString: created)
    }

    /// Subscribes to a subject.
    func subscribe(_ subject: String) throws -> NatsSubscription {
        var created: OpaquePointer?
        try check(functions.subscribe(&created, handle, subject))
        guard let created else { throw ReplicationError.fatal("not enough memory") }
        // With the default limits, messages of a snapshot that arrive faster than they are read would be dropped.
        _ = functions.set_pending_limits(created, -1, -1)
        return NatsSubscription(self, created)
    }

    /// Subscribes to a subject as a member of a group: each message is delivered to one member.
    ///
    /// If 65,536 messages or `byteLimit` bytes wait, further messages are dropped, and
    /// ``NatsSubscription/next(within:)`` throws ``NatsMessagesDropped``. There is always space for one message of the
    /// maximum size that the server allows.
    func subscribe(_ subject: String, group: String, byteLimit: Int) throws -> NatsSubscription {
        var created: OpaquePointer?
        try check(functions.queue_subscribe(&created, handle, subject, group))
        guard let created else { throw ReplicationError.fatal("not enough memory") }
        _ = functions.set_pending_limits(
            created, 65_536, Int32(clamping: max(byteLimit, messageLimit)))
        return NatsSubscription(self, created)
    }

    fileprivate func next(_ subscription: OpaquePointer, _ milliseconds: Int64) throws
        -> NatsMessage?
    {
        var created: OpaquePointer?
        let status = functions.next_message(&created, subscription, milliseconds)
        guard status == 0, let message = created else {
            // A closed connection has no more messages.
            if !isOpen { try check(status == 0 ? 1 : status) }
            if status == Self.noResponders { return .noResponders }
            if status == Self.slowConsumer { throw NatsMessagesDropped() }
            if status != Self.timeout { try check(status) }
            return nil
        }
        defer { functions.message_destroy(message) }
        var headers: [String: String] = [:]
        for name in MessageHeader.all {
            var value: UnsafePointer<CChar>?
            if functions.header_get(message, name, &value) == 0, let value {
                headers[name] = String(cString: value)
            }
        }
        return NatsMessage(
            subject: functions.message_subject(message).map { String(cString: $0) } ?? "",
            reply: functions.message_reply(message).map { String(cString: $0) } ?? "",
            headers: { [headers] in headers[$0] }, data: data(of: message))
    }

    private static let connected: Int32 = 2
    private static let slowConsumer: Int32 = 20
    private static let timeout: Int32 = 26
    private static let noResponders: Int32 = 34
    private static let refused: Int32 = 11

    /// Whether the connection can still be used.
    var isOpen: Bool { functions.status(handle) == Self.connected }

    fileprivate func unsubscribe(_ subscription: OpaquePointer) throws {
        try check(functions.subscription_drain(subscription))
        try flush()
    }

    fileprivate func end(_ subscription: OpaquePointer) {
        // Fails if the connection was lost, which ended the subscription.
        _ = functions.unsubscribe(subscription)
        let old = ended.withLock { ended in
            defer {
                if ended.count >= Self.endedLimit { ended = [] }
                ended.append(UInt(bitPattern: subscription))
            }
            return ended.count >= Self.endedLimit ? ended : []
        }
        guard !old.isEmpty else { return }
        if functions.flush(handle, 5000) == 0 {
            // The reading thread has received the server's reply.
            destroy(old)
        } else {
            ended.withLock { $0 += old }
        }
    }

    private func destroy(_ subscriptions: [UInt]) {
        for subscription in subscriptions {
            functions.subscription_destroy(OpaquePointer(bitPattern: subscription))
        }
    }

    private func data(of message: OpaquePointer) -> [UInt8] {
        Array(
            UnsafeRawBufferPointer(
                start: functions.message_data(message), count: Int(functions.message_count(message))
            ))
    }
}

/// A subscription to a subject; ends with its last reference.
final class NatsSubscription {
    private let connection: NatsConnection
    private let handle: OpaquePointer

    fileprivate init(_ connection: NatsConnection, _ handle: OpaquePointer) {
        self.connection = connection
        self.handle = handle
    }

    deinit { connection.end(handle) }

    /// Ends the delivery of messages, and waits until all messages that the server has sent can be read.
    func end() throws { try connection.unsubscribe(handle) }

    /// Returns the next message; nil if none arrives in this time.
    ///
    /// Throws ``NatsMessagesDropped`` once after messages were dropped; the next call continues with the others.
    func next(within milliseconds: Int64) throws -> NatsMessage? {
        try connection.next(handle, milliseconds)
    }
}

/// The error after messages were dropped because too many were waiting.
struct NatsMessagesDropped: Error {}

/// The names of the headers that replication reads and writes.
enum MessageHeader {
    static let identifier = "Nats-Msg-Id"
    static let expectedSequence = "Nats-Expected-Last-Sequence"
    static let expectedIdentifier = "Nats-Expected-Last-Msg-Id"
    static let expectedRevision = "Nats-Expected-Last-Subject-Sequence"
    static let status = "Status"
    static let stalled = "Nats-Consumer-Stalled"
    /// The number of messages that a consumer has sent, in its heartbeats.
    static let sent = "Nats-Last-Consumer"
    /// The identity of the store.
    static let store = "Moonpool-Store"
    /// The publishing process.
    static let publisher = "Moonpool-Publisher"
    /// The number of the lease of a cluster's writer, which grows with each new writer.
    static let lease = "Moonpool-Lease"
    /// The version after the commit or snapshot.
    static let version = "Moonpool-Version"
    /// The version before a commit; absent for a snapshot.
    static let since = "Moonpool-Since"
    /// The identities of the publisher's commits of these two versions.
    static let commit = "Moonpool-Commit"
    static let sinceCommit = "Moonpool-Since-Commit"
    /// The number of a part, from 1.
    static let part = "Moonpool-Part"
    /// `1` for the last part.
    static let last = "Moonpool-Last"
    /// The sequence number of the first part.
    static let first = "Moonpool-First"
    /// The message and the code of an error that answers a request, as in services of other NATS clients.
    static let serviceError = "Nats-Service-Error"
    static let serviceErrorCode = "Nats-Service-Error-Code"

    static let all = [
        status, stalled, sent, store, publisher, lease, version, since, commit, sinceCommit, part,
        last,
        first,
        serviceError, serviceErrorCode,
    ]
}
