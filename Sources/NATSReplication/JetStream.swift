import DataFormats
import Replication
import Transfer

/// A JetStream stream, accessed through the documented subjects and JSON messages.
final class JetStream {
    let connection: NatsConnection
    let name: String
    /// The time limit of a request to the server.
    private let limit: Duration

    init(_ connection: NatsConnection, _ name: String, limit: Duration = .seconds(5)) {
        self.connection = connection
        self.name = name
        self.limit = limit
    }

    /// The subject of commits.
    var commits: String { "moonpool.\(name).commit" }
    /// The subject of all parts of a snapshot except the last one.
    var snapshots: String { "moonpool.\(name).snapshot" }
    /// The subject of the last part of a snapshot.
    var completions: String { "moonpool.\(name).complete" }

    /// Throws `fatal` for an invalid name of a stream.
    static func check(_ name: String) throws {
        let isName =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x5F
            }
        guard isName else {
            throw ReplicationError.fatal(
                "'\(name)' is not a valid stream name; use letters, digits, '-' and '_'")
        }
    }

    /// The server's state of the stream.
    struct State {
        let first: UInt64
        let last: UInt64
        let messages: UInt64
        let limits: Limits
    }

    /// The limits of a stream; 0 for none.
    struct Limits {
        let messages: UInt64
        let bytes: UInt64
        let nanoseconds: UInt64
        let messageSize: UInt64
        private let perSubject: UInt64
        private let retention: String
        private let discard: String
        private let hidesOutcomes: Bool

        init(_ answer: JSONAnswer) {
            messages = answer.number("config", "max_msgs")
            bytes = answer.number("config", "max_bytes")
            nanoseconds = answer.number("config", "max_age")
            messageSize = answer.number("config", "max_msg_size")
            perSubject = answer.number("config", "max_msgs_per_subject")
            retention = answer.text("config", "retention")
            discard = answer.text("config", "discard")
            hidesOutcomes = answer.flag("config", "no_ack")
        }

        /// The limits at which the stream drops its oldest messages, for reports; nil if it keeps all.
        var description: String? {
            let all = [("max_msgs", messages), ("max_bytes", bytes), ("max_age", nanoseconds)]
            let set = all.filter { $0.1 > 0 }.map { "\($0.0) = \($0.1)" }
            return set.isEmpty ? nil : set.joined(separator: ", ")
        }

        /// Throws `fatal`, with the name of the setting, for a stream that cannot keep the commits of a store.
        func check(_ name: String) throws {
            var fault: String?
            if retention != "limits" {
                fault =
                    "retention = \(retention), with which messages vanish before all followers have them; set limits"
            } else if perSubject > 0 {
                fault =
                    "max_msgs_per_subject = \(perSubject), but all commits have one subject; set -1"
            } else if discard == "new", let description {
                fault = "discard = new with \(description), and would refuse commits; set old"
            } else if hidesOutcomes {
                fault = "no_ack = true, with which the server does not confirm commits; set false"
            } else if messageSize > 0, messageSize < Self.minMessageSize {
                fault =
                    "max_msg_size = \(messageSize); the least possible size is \(Self.minMessageSize)"
            }
            if let fault {
                throw ReplicationError.fatal("the stream '\(name)' has \(fault)")
            }
        }

        private static let minMessageSize: UInt64 = 64 << 10
    }

    /// The state of the stream; nil if it does not exist.
    func state() throws -> State? {
        let answer = try ask("STREAM.INFO.\(name)", "")
        guard let answer else { return nil }
        return State(
            first: answer.number("state", "first_seq"), last: answer.number("state", "last_seq"),
            messages: answer.number("state", "messages"), limits: Limits(answer))
    }

    /// The subjects of the stored messages that match a subject with wildcards.
    func subjects(_ filter: String) throws -> [String] {
        try ask("STREAM.INFO.\(name)", "{\"subjects_filter\":\"\(filter)\"}")?
            .names("state", "subjects") ?? []
    }

    /// Creates the stream.
    func create(replicas: Int) throws {
        try create(#""subjects":["moonpool.\#(name).*"],"max_age":0"#, replicas)
    }

    fileprivate func create(_ settings: String, _ replicas: Int) throws {
        let body = """
            {"name":"\(name)",\(settings),"retention":"limits","storage":"file",\
            "num_replicas":\(replicas),"discard":"old","max_msgs":-1,"max_bytes":-1,\
            "max_msg_size":-1,"max_consumers":-1,"duplicate_window":120000000000}
            """
        guard try ask("STREAM.CREATE.\(name)", body) != nil else {
            throw ReplicationError.temporary("the stream '\(name)' could not be created")
        }
    }

    /// Removes the messages before a sequence number.
    func purge(before sequence: UInt64) throws {
        // A purge that keeps every message, starting at the first one, would remove all messages.
        guard sequence > 1 else { return }
        _ = try ask("STREAM.PURGE.\(name)", "{\"seq\":\(sequence)}")
    }

    /// A stored message.
    struct Stored {
        let sequence: UInt64
        let subject: String
        let headers: [String: String]
        private let answer: JSONAnswer
        var data: [UInt8] { Base64.decode(answer.text("message", "data")) ?? [] }

        fileprivate init(_ answer: JSONAnswer) {
            var headers: [String: String] = [:]
            let bytes = Base64.decode(answer.text("message", "hdrs")) ?? []
            for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[String(line[..<colon])] = String(
                    line[line.index(after: colon)...].drop { $0 == " " })
            }
            self.headers = headers
            self.answer = answer
            sequence = answer.number("message", "seq")
            subject = answer.text("message", "subject")
        }

        /// Whether the message is a commit or snapshot, or the last part of one.
        var isComplete: Bool { headers[MessageHeader.last] == "1" }
        /// The identity of the last complete commit in the stream up to the message.
        var completeCommit: String {
            headers[isComplete ? MessageHeader.commit : MessageHeader.sinceCommit] ?? ""
        }
        /// The sequence number of the first part.
        var first: UInt64? { headers[MessageHeader.first].flatMap { UInt64($0) } }
        /// The publisher's version after the commit.
        var version: UInt64? { headers[MessageHeader.version].flatMap { UInt64($0) } }
    }

    /// Returns the message with a sequence number, or the last message of a subject; nil if it does not exist.
    func message(_ sequence: UInt64) throws -> Stored? { try message("{\"seq\":\(sequence)}") }

    /// Returns the last message that Moonpool has written, and the number of later ones; nil for an empty stream.
    ///
    /// Throws `fatal` if it has not written the last thousand. With the identity of a store, skips the messages of other
    /// stores as well, and returns nil instead.
    func lastOwnMessage(
        _ state: State, of identity: String? = nil
    ) throws -> (message: Stored, foreign: Int)? {
        var sequence = state.last
        var foreign = 0
        while sequence > 0, sequence >= state.first, foreign < 1000 {
            if let message = try message(sequence) {
                if let store = message.headers[MessageHeader.store], store == identity ?? store {
                    return (message, foreign)
                }
                foreign += 1
            }
            sequence -= 1
        }
        guard foreign == 0 else {
            throw ReplicationError.fatal("the stream '\(name)' was not written by Moonpool")
        }
        return nil
    }

    /// Returns the last message of a subject; nil if it has none.
    func lastMessage(of subject: String) throws -> Stored? {
        try message("{\"last_by_subj\":\"\(subject)\"}")
    }

    private func message(_ body: String) throws -> Stored? {
        try ask("STREAM.MSG.GET.\(name)", body).map(Stored.init)
    }

    /// Returns the first message with at least a sequence number; nil if the stream has none.
    func message(from sequence: UInt64) throws -> Stored? {
        try message("{\"seq\":\(sequence),\"next_by_subj\":\"moonpool.\(name).*\"}")
    }

    /// Subscribes to the messages, starting at a sequence number.
    ///
    /// The server ends the consumer half a minute after the connection has ended.
    func consume(from sequence: UInt64, heartbeat: Duration) throws -> NatsSubscription {
        let inbox = try connection.makeInbox()
        let subscription = try connection.subscribe(inbox)
        let body = """
            {"stream_name":"\(name)","config":{"deliver_policy":"by_start_sequence","opt_start_seq":\(sequence),\
            "ack_policy":"none","max_deliver":1,"replay_policy":"instant","deliver_subject":"\(inbox)",\
            "flow_control":true,"idle_heartbeat":\(heartbeat.milliseconds)000000,"num_replicas":1,"mem_storage":true,\
            "inactive_threshold":30000000000}}
            """
        guard try ask("CONSUMER.CREATE.\(name)", body) != nil else {
            throw ReplicationError.temporary("the stream '\(name)' does not exist")
        }
        return subscription
    }

    // MARK: Answers

    private enum ErrorCode {
        static let streamNotFound: UInt64 = 10059
        static let messageNotFound: UInt64 = 10037
        static let noJetStream: UInt64 = 10039
        static let wrongLastIdentifier: UInt64 = 10070
        static let wrongLastSequence: UInt64 = 10071
    }

    /// Returns whether the server rejected a message because another message precedes it.
    static func isFenced(_ answer: JSONAnswer) -> Bool {
        [ErrorCode.wrongLastSequence, ErrorCode.wrongLastIdentifier]
            .contains(answer.number("error", "err_code"))
    }

    /// The server's reason for an error.
    static func reason(_ answer: JSONAnswer) -> String { answer.text("error", "description") }

    /// Sends a request to the JetStream API; returns nil if its subject does not exist.
    private func ask(_ subject: String, _ body: String) throws -> JSONAnswer? {
        let answer = try JSONAnswer(
            try connection.request("$JS.API.\(subject)", body, within: limit))
        guard answer.hasError else { return answer }
        switch answer.number("error", "err_code") {
        case ErrorCode.streamNotFound, ErrorCode.messageNotFound: return nil
        case ErrorCode.noJetStream:
            throw ReplicationError.fatal(
                "JetStream is not enabled on the NATS server; start it with: nats-server --jetstream"
            )
        default: throw ReplicationError.temporary("NATS: \(Self.reason(answer))")
        }
    }
}

/// A JetStream key-value bucket: a stream whose subjects are the keys, and whose last messages are the values.
///
/// The revision of a value is the sequence number of its message. Confined to one thread.
final class KeyValueBucket {
    private let stream: JetStream
    private let limit: Duration
    private let answers: NatsSubscription
    private let inbox: String
    private var requests = 0

    /// A value, which is a JSON object, and its revision.
    struct Entry {
        let revision: UInt64
        let value: JSONAnswer
    }

    /// Creates the bucket if it does not exist; its values end after an hour.
    init(
        _ connection: NatsConnection, _ name: String, replicas: Int, limit: Duration
    ) throws {
        stream = JetStream(connection, "KV_" + name, limit: limit)
        self.limit = limit
        inbox = try connection.makeInbox()
        answers = try connection.subscribe(inbox + ".*")
        guard try stream.state() == nil else { return }
        try stream.create(
            #""subjects":["$KV.\#(name).>"],"max_msgs_per_subject":1,"allow_rollup_hdrs":true,"max_age":3600000000000"#,
            replicas)
    }

    private func subject(_ key: String) -> String {
        "$\(stream.name.replacing("KV_", with: "KV.", maxReplacements: 1)).\(key)"
    }

    /// Returns a value; nil if the key does not exist.
    func get(_ key: String) throws -> Entry? {
        guard let message = try stream.lastMessage(of: subject(key)) else { return nil }
        return Entry(revision: message.sequence, value: try JSONAnswer(message.data))
    }

    /// Returns the last revision of all keys, which also counts values that have ended.
    func lastRevision() throws -> UInt64 { try stream.state()?.last ?? 0 }

    /// The keys with a prefix.
    func keys(_ prefix: String) throws -> [String] {
        let start = subject("")
        return try stream.subjects(start + prefix + ">").map { String($0.dropFirst(start.count)) }
    }

    /// Sets a value; with `revision`, only if the key has this revision, which is 0 for a key without value.
    ///
    /// Returns the new revision; nil if the key has another revision.
    func put(_ key: String, _ value: [UInt8], expecting revision: UInt64?) throws -> UInt64? {
        requests += 1
        let reply = "\(inbox).\(requests)"
        let headers = revision.map { [(MessageHeader.expectedRevision, String($0))] } ?? []
        try stream.connection.publish(subject(key), reply: reply, headers: headers, value)
        let deadline = ContinuousClock.now + limit
        while true {
            let left = deadline - .now
            guard left > .zero, let message = try answers.next(within: max(left.milliseconds, 1))
            else { throw ReplicationError.temporary("the NATS server does not respond") }
            // The answer to an earlier request that has taken too long.
            guard message.subject == reply || message.headers(MessageHeader.status) != nil else {
                continue
            }
            guard message.headers(MessageHeader.status) == nil else {
                throw ReplicationError.temporary("the bucket of the cluster has no leader")
            }
            let answer = try JSONAnswer(message.data)
            guard answer.hasError else { return answer.number("seq") }
            guard JetStream.isFenced(answer) else {
                throw ReplicationError.temporary("NATS: \(JetStream.reason(answer))")
            }
            return nil
        }
    }
}
