import DataFormats
import ObjectStore
import Replication
import Transfer

/// Makes a store follow a stream that a ``Publisher`` writes.
///
///     let follower = try Follower("copy.moonpool", NatsOptions("nats://localhost:4222"), stream: "zoo")
///     try follower.run()
///
/// Each commit is one write transaction that also stores the commit's sequence number, so that a commit is applied
/// exactly once, even if a process is killed. Other writes to the store are refused. Blocks the calling thread, which
/// must be the thread that created the follower.
package final class Follower: ReplicationWork {
    /// The options of a follower.
    package typealias Options = FollowerOptions

    /// The state of the follower.
    package let status: ReplicationStatus
    private let store: Store
    private let servers: NatsOptions
    private let options: Options
    private let streamName: String
    private var record: ReplicationRecord?
    /// The commit whose parts are currently being applied.
    private var reader: ReplicationReader?
    private var nextPart: UInt64 = 1
    /// Whether to load the newest snapshot, because the stream does not continue the store's history.
    private var needsSnapshot = false
    /// The sequence number of the commit that did not continue the store's history.
    private var gap: UInt64 = 0
    /// The number of times that the commits after the newest snapshot did not continue it.
    private var snapshotAttempts = 0
    private static let snapshotLimit = 8
    private var progress: ReplicationProgress

    /// Opens a store for following, and creates it if it does not exist.
    ///
    /// Throws the errors of opening a store, and `ReplicationError.fatal` for a store that has data and is not a
    /// follower.
    package init(
        _ path: String, _ servers: NatsOptions, stream: String, options: Options = Options(),
        status: ReplicationStatus = ReplicationStatus(),
        report: @escaping (String) -> Void = { _ in }
    ) throws {
        try JetStream.check(stream)
        self.servers = servers
        self.options = options
        self.status = status
        streamName = stream
        _ = try NatsLibrary.functions()
        if options.rebuilds { try Self.rebuild(path, servers, stream, options, status, report) }
        // If a power failure removes a commit, the follower applies it again, because the commit contains its own
        // sequence number.
        store = try Store(
            StoreConfiguration(.file(path), durability: .async),
            scheduler: ReplicationThread(status))
        let file = StatusFile(
            path, .follower, stream: stream, servers: servers.display)
        progress = ReplicationProgress(
            status, file, maxPause: options.limits.pause, report: report)
        store.isReplicating = true
        record = try ReplicationRecord.read(store)
        if let record, record.role == .publisher {
            throw ReplicationError.fatal(
                "'\(path)' publishes to the stream '\(record.stream)'; add --rebuild to replace it")
        }
        if record == nil, try store.hasObjects {
            store.close()
            throw ReplicationError.fatal(
                "'\(path)' has data and does not follow a stream; replace it with moonpool follow … --rebuild"
            )
        }
    }

    /// Replaces a store by a new one, which contains all commits of the stream before the old one is removed.
    private static func rebuild(
        _ path: String, _ servers: NatsOptions, _ stream: String, _ options: Options,
        _ status: ReplicationStatus, _ report: @escaping (String) -> Void
    ) throws {
        var building = options
        building.rebuilds = false
        building.stopsAtEnd = true
        try StoreFiles.withWorkFolder(beside: path) { folder in
            let new = folder + "/new.moonpool"
            let follower = try Follower(
                new, servers, stream: stream, options: building, status: status, report: report)
            do {
                defer { follower.close() }
                try follower.run()
            }
            guard !status.isStopping else {
                throw ReplicationError.fatal(
                    "the store is not rebuilt, because the follower was stopped; '\(path)' is unchanged"
                )
            }
            try StoreFiles.backup(new, to: path, isReplacing: true)
        }
    }

    /// Releases the store.
    package func close() {
        store.close()
        progress.end()
    }

    /// Follows the stream until the status requests a stop.
    ///
    /// Throws `ReplicationError.fatal` for an error that trying again cannot solve, and the errors of writing to the
    /// store.
    package func run() throws {
        defer { progress.end() }
        while !status.isStopping {
            do {
                if try follow() { return }
            } catch is MissingCommits {
                try abandon()
            } catch let error as ReplicationError {
                try abandon()
                status.record(error.description)
                guard case .temporary(let reason) = error, !options.failsFast else { throw error }
                try progress.waitToRetry(after: reason)
            }
        }
        try abandon()
    }

    /// Rolls back a commit whose last part has not arrived.
    private func abandon() throws {
        reader = nil
        nextPart = 1
        if store.isInWrite { try store.cancelWrite() }
    }

    /// Follows over one connection.
    ///
    /// Returns true if the follower has reached the end of the stream and the options request a stop there.
    private func follow() throws -> Bool {
        let limit = options.limits.request
        let stream = JetStream(
            try NatsConnection(servers, within: limit), streamName, limit: limit)
        guard let state = try stream.state() else {
            throw ReplicationError.temporary("the stream '\(streamName)' does not exist")
        }
        let start = try self.start(stream, state)
        let end = state.last
        let messages = try stream.consume(from: start, heartbeat: options.limits.silence / 4)
        status.recordConnection {
            $0.sequence = start - 1
            $0.version = record?.version ?? 0
            $0.lag = end - min(end, start - 1)
        }
        if options.stopsAtEnd, start > end { return true }
        var delivered: UInt64 = 0
        var next = start
        var lastMessage = ContinuousClock.now
        var lastProgress = lastMessage
        while !status.isStopping {
            progress.writeStatus()
            guard let message = try messages.next(within: 200) else {
                guard ContinuousClock.now - lastMessage < options.limits.silence else {
                    throw ReplicationError.temporary(
                        "the stream '\(streamName)' sends no more messages")
                }
                continue
            }
            lastMessage = .now
            if message.headers(MessageHeader.status) != nil {
                // A heartbeat or a flow control request: the server sends more messages after the reply.
                let question =
                    message.reply.isEmpty ? message.headers(MessageHeader.stalled) : message.reply
                if let question, !question.isEmpty { try stream.connection.publish(question) }
                let sent = message.headers(MessageHeader.sent).flatMap { UInt64($0) }
                guard sent ?? 0 <= delivered else { throw Self.lostMessages }
                if lastMessage - lastProgress > options.limits.silence {
                    try checkEnd(of: stream, at: next)
                    lastProgress = lastMessage
                }
                progress.didSucceed()
                continue
            }
            guard let position = StreamPosition(message.reply) else { continue }
            guard position.delivery == delivered + 1 else { throw Self.lostMessages }
            delivered = position.delivery
            next = position.sequence + 1
            try take(message, position)
            lastProgress = .now
            progress.didSucceed()
            status.update { $0.lag = position.pending }
            if options.stopsAtEnd, position.sequence >= end, reader == nil { return true }
        }
        return true
    }

    private static let lostMessages = ReplicationError.temporary("messages were lost")

    /// Throws if the stream has messages, although the server that sends them only sends heartbeats.
    ///
    /// A replica of the stream that no longer receives messages from the others keeps its consumers alive. The next
    /// consumer may be at another server.
    private func checkEnd(of stream: JetStream, at next: UInt64) throws {
        guard let state = try stream.state(), state.last >= next,
            let message = try stream.message(from: next)
        else { return }
        throw ReplicationError.temporary(
            "the server does not send message \(message.sequence) of the stream '\(streamName)'")
    }

    /// The position of a message in its stream, from its reply subject.
    private struct StreamPosition {
        let sequence: UInt64
        let delivery: UInt64
        let pending: UInt64

        init?(_ subject: String) {
            // $JS.ACK.[domain.account.]stream.consumer.count.sequence.delivery.time.pending[.token]
            let words = subject.split(separator: ".")
            guard words.count >= 9 else { return nil }
            let start = words.count >= 11 ? 5 + 2 : 5
            guard let sequence = UInt64(words[start]), let delivery = UInt64(words[start + 1]),
                let pending = UInt64(words[start + 3])
            else { return nil }
            self.sequence = sequence
            self.delivery = delivery
            self.pending = pending
        }
    }

    /// Returns the first sequence number to receive: the one after the last applied message, or the one of the newest
    /// snapshot.
    private func start(_ stream: JetStream, _ state: JetStream.State) throws -> UInt64 {
        if let record, record.sequence > 0, !needsSnapshot {
            if record.sequence > state.last {
                try checkContinuation(of: record, stream, state)
                progress.report(
                    "the stream '\(streamName)' was created again, with commits after those of the store; loading its "
                        + "newest snapshot")
            } else if record.sequence + 1 >= state.first {
                if try hasPosition(record, stream) { return record.sequence + 1 }
                progress.report(
                    "the stream '\(streamName)' has different commits than the store; loading its newest snapshot"
                )
            }
        }
        guard let last = try stream.lastMessage(of: stream.completions),
            let first = last.first
        else {
            throw ReplicationError.temporary("the stream '\(streamName)' has no snapshot yet")
        }
        try checkIdentity(last.headers[MessageHeader.store])
        return first
    }

    /// Returns whether the stream still contains the last message that the store has applied; true if this is unknown.
    ///
    /// A cluster that loses several servers at once can lose messages; the publisher then sends these commits again,
    /// possibly with other sequence numbers or in a snapshot.
    private func hasPosition(_ record: ReplicationRecord, _ stream: JetStream) throws -> Bool {
        guard let last = try stream.message(record.sequence) else { return true }
        return last.headers[MessageHeader.store] == record.identity
            && record.isAt(last.version, last.headers[MessageHeader.commit])
    }

    /// Checks a stream that ends before the last message that the store has applied.
    ///
    /// A cluster that loses several servers at once can lose messages or the whole stream. The publisher then sends its
    /// commits again. Throws a temporary error while the stream ends with a commit that the store has. Without a commit of
    /// the store, the newest snapshot decides whether the stream belongs to another store.
    private func checkContinuation(
        of record: ReplicationRecord, _ stream: JetStream, _ state: JetStream.State
    ) throws {
        guard let (last, _) = try stream.lastOwnMessage(state, of: record.identity) else {
            guard state.messages == 0 else { return }
            throw ReplicationError.temporary(
                "the stream '\(streamName)' is empty; waiting for its publisher")
        }
        let commit = last.headers[MessageHeader.commit] ?? ""
        let isKnown =
            try commit.isEmpty
            ? last.version ?? 0 <= record.version : store.version(ofCommit: commit) != nil
        guard !isKnown else {
            throw ReplicationError.temporary(
                "the stream '\(streamName)' has lost messages that the store has applied; waiting for its publisher"
            )
        }
    }

    private func checkIdentity(_ identity: String?) throws {
        guard let record, identity != record.identity else { return }
        throw ReplicationError.fatal(
            "the stream '\(streamName)' contains the commits of another store than before; add --rebuild "
                + "to replace the local store")
    }

    // MARK: Commits

    private func take(_ message: NatsMessage, _ position: StreamPosition) throws {
        guard let identity = message.headers(MessageHeader.store),
            let version = message.headers(MessageHeader.version).flatMap({ UInt64($0) }),
            let part = message.headers(MessageHeader.part).flatMap({ UInt64($0) })
        else { return try skip(position, "Moonpool has not written it") }
        guard record == nil || identity == record?.identity else {
            return try skip(position, "it belongs to another store")
        }
        let since = message.headers(MessageHeader.since).flatMap { UInt64($0) }
        let commit = message.headers(MessageHeader.commit) ?? ""
        if part == 1 {
            try abandon()
            let sinceCommit = message.headers(MessageHeader.sinceCommit)
            if let since, let record, !record.isAt(since, sinceCommit),
                try store.version(ofCommit: commit) != nil
            {
                return try skip(position, "the store has its commit")
            }
            try checkOrder(since, sinceCommit, position)
            try store.beginWrite()
            reader = ReplicationReader(store)
        } else if part != nextPart || reader == nil {
            // The message is a remaining part of a commit whose publisher ended, or of a snapshot that is not needed.
            return try abandon()
        }
        assert(reader != nil && store.isInWrite, "a part of a commit is applied in a write")
        nextPart = part + 1
        let isLast = message.headers(MessageHeader.last) == "1"
        do {
            try reader?.take(message.data)
            if isLast { try reader?.finish() }
        } catch let error as NewerReplicaFormat {
            throw ReplicationError.fatal("message \(position.sequence): \(error)")
        } catch let error as FormatError {
            return try skip(position, error.description)
        } catch let error as StoreError where Self.contentErrors.contains(error.code) {
            return try skip(position, error.message)
        }
        guard isLast else { return }
        reader = nil
        nextPart = 1
        let access = ReplicationRecord.access(.follower, options.isClustered)
        let changesRole = record?.role != .follower || store.writeAccess != access
        let next = ReplicationRecord(
            role: .follower, identity: identity, stream: streamName, sequence: position.sequence,
            version: version, commit: commit)
        try next.write(
            to: store, changesRole: changesRole, isClustered: options.isClustered)
        try store.setCommitIdentity(next.commit)
        try store.commitWrite()
        record = next
        if since != nil, position.sequence >= gap {
            needsSnapshot = false
            snapshotAttempts = 0
        }
        let lease = message.headers(MessageHeader.lease).flatMap { UInt64($0) }
        status.update {
            $0.sequence = position.sequence
            $0.version = version
            $0.commits += 1
            if $0.leaseVersions.count > 16 { $0.leaseVersions = [:] }
            $0.streamLease = lease ?? 0
            $0.leaseVersions[$0.streamLease] = version
            if since.map({ $0 + 1 < version }) ?? true { $0.combinations += 1 }
        }
        if since == nil { progress.report("loaded the snapshot of version \(version)") }
    }

    /// The errors of a write that the content of a message causes.
    private static let contentErrors: Set<StoreError.Code> = [
        .duplicateKey, .missingValue, .typeMismatch, .unknownClass, .unknownProperty,
        .invalidObject,
        .invalidArgument, .invalidSchema, .outOfRange,
    ]
    private static let maxWarnings = 20

    /// Rolls back and ignores a message that the publisher of the store cannot have sent.
    ///
    /// If it is a damaged commit, the next one does not follow the store's last one, and a snapshot is loaded.
    private func skip(_ position: StreamPosition, _ reason: String) throws {
        try abandon()
        status.update { $0.skipped += 1 }
        let count = status.snapshot.skipped
        guard count <= Self.maxWarnings else { return }
        progress.report(
            "skipped message \(position.sequence) of the stream '\(streamName)': \(reason)"
                + (count == Self.maxWarnings ? "; further ones are only counted" : ""))
    }

    /// The stream does not have the commits after the store's version.
    private struct MissingCommits: Error {}

    /// Throws if a commit does not directly follow the last applied one: `MissingCommits` the first time, because the
    /// commits after the newest snapshot of the same store continue it.
    private func checkOrder(
        _ since: UInt64?, _ commit: String?, _ position: StreamPosition
    ) throws {
        guard let since else { return }
        guard let record, record.isAt(since, commit) else {
            gap = position.sequence
            guard !needsSnapshot else {
                let reason =
                    "a commit of the stream '\(streamName)' follows version \(since) of another history than the "
                    + "store's; add --rebuild to replace the store"
                snapshotAttempts += 1
                // A server that lags behind may not have the whole snapshot yet.
                throw snapshotAttempts < Self.snapshotLimit
                    ? ReplicationError.temporary(reason) : ReplicationError.fatal(reason)
            }
            needsSnapshot = true
            progress.report(
                "a commit of the stream '\(streamName)' follows version \(since), which the store does not have; "
                    + "loading the newest snapshot")
            throw MissingCommits()
        }
    }
}
