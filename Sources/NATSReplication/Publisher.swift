import DataFormats
import ObjectStore
import Replication
import Transfer

/// Publishes the commits of a store to a stream of NATS JetStream, in order and exactly once.
///
///     let publisher = try Publisher("zoo.moonpool", NatsOptions("nats://localhost:4222"), stream: "zoo")
///     try publisher.run()
///
/// Each commit is one message, even if it occurred while the publisher was busy or not running. The last message of the
/// stream determines the next commit to publish, so the publisher does not write to the store. Blocks the calling
/// thread, which must be the thread that created the publisher.
package final class Publisher: ReplicationWork {
    /// The options of a publisher.
    package typealias Options = PublisherOptions

    /// The state of the publisher.
    package let status: ReplicationStatus
    private let store: Store
    private let servers: NatsOptions
    private let options: Options
    private let streamName: String
    private let identifier = UUIDValue.random().description
    private var record: ReplicationRecord
    /// Whether the stream has accepted the store as its publisher.
    private var isPublisher: Bool

    // MARK: The known state of the stream

    private var stream: JetStream?
    private var acknowledgments: NatsSubscription?
    private var inbox = ""
    /// The sequence number of the last message that was sent.
    private var sent: UInt64 = 0
    /// The identifier of that message.
    private var sentIdentifier = ""
    /// The sequence number of the last message that the server has stored.
    private var stored: UInt64 = 0
    /// The version of the store after the sent messages; nil if followers need a snapshot.
    private var position: UInt64?
    /// The identity of the commit of the last message that was sent.
    private var sentCommit = ""
    /// The last version before the lease, and the lease of the stream's messages before it.
    ///
    /// A member whose request is addressed to one lease looks for its commit before the first message of the next lease.
    /// So a commit from before the lease is published with the number of the stream's last message.
    private var earlier: (version: UInt64, lease: UInt64)?
    /// The commit with which the store becomes the publisher, and the version before it.
    private var takeover: (commit: String, after: UInt64)?
    /// The store at that version.
    ///
    /// While it is open, the file keeps the history after it.
    private var held: StoreView?
    private var commitsSinceSnapshot = 0
    /// The limits of the stream.
    private var limits: JetStream.Limits?
    /// The first message of the newest snapshot; nil if the stream has none.
    private var newestSnapshot: UInt64?
    /// The last look at what a stream with limits has dropped.
    private var looked: (time: ContinuousClock.Instant, sent: UInt64)?
    /// Reads commits other than the newest one.
    private let commits: CommitReader
    private var lastAnswer = ContinuousClock.now
    /// The versions after the messages between ``stored`` and ``sent``, by sequence number.
    private var unstored: [(sequence: UInt64, version: UInt64)] = []
    /// Whether more messages follow immediately, so that the server does not have to confirm each one.
    private var moreFollows = false
    /// The version after the last stored message.
    private var storedVersion: UInt64 = 0
    private var progress: ReplicationProgress

    /// Opens a store for publishing.
    ///
    /// `report` receives messages about the progress. Throws the errors of opening a store, and
    /// `ReplicationError.fatal` for a follower.
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
        store = try Store(
            StoreConfiguration(.file(path)), scheduler: ReplicationThread(status))
        if options.takeover != nil, let known = try ReplicationRecord.read(store) {
            record = known
            store.isReplicating = true
        } else {
            store.isReplicating = options.lease != nil
            record = try ReplicationRecord.publisher(
                store, path, stream, isClustered: options.lease != nil)
        }
        isPublisher = options.takeover == nil
        commits = CommitReader(store)
        let file = StatusFile(
            path, .publisher, stream: stream, servers: servers.display)
        progress = ReplicationProgress(
            status, file, maxPause: options.limits.pause, report: report)
        progress.watchCommits(of: store)
    }

    /// Releases the store.
    package func close() {
        held = nil
        store.close()
        progress.end()
    }

    /// Publishes commits until the status requests a stop.
    ///
    /// Throws `ReplicationError.fatal` for an error that trying again cannot solve, and the errors of reading the
    /// store.
    package func run() throws {
        defer { progress.end() }
        while !status.isStopping {
            do {
                progress.writeStatus()
                if stream == nil { try connect() }
                let hasWork = try publishNext()
                if sent == stored { progress.didSucceed() }
                if hasWork { continue }
                if options.stopsAtEnd, sent == stored, position == store.version { return }
            } catch let error as ReplicationError {
                stream = nil
                acknowledgments = nil
                status.record(error.description)
                guard case .temporary(let reason) = error, !options.failsFast else { throw error }
                try progress.waitToRetry(after: reason) {
                    // Later changes come from the history or a snapshot.
                    held = nil
                    try store.refresh()
                }
            }
        }
    }

    // MARK: Connecting

    private func connect() throws {
        let limit = options.limits.request
        let connection = try NatsConnection(servers, within: limit)
        let stream = JetStream(connection, streamName, limit: limit)
        inbox = try connection.makeInbox()
        acknowledgments = try connection.subscribe(inbox)
        if try stream.state() == nil {
            try stream.create(replicas: options.replicas)
            progress.report("created the stream '\(streamName)'")
        }
        let limits = try stream.state()?.limits
        try limits?.check(streamName)
        self.limits = limits
        lastAnswer = .now
        self.stream = stream
        if isPublisher { try takePosition(of: stream) } else { try takeOver(stream) }
        status.recordConnection { $0.isPublisher = true }
    }

    /// Reads the end of the stream.
    private func takePosition(of stream: JetStream) throws {
        guard let state = try stream.state() else {
            throw ReplicationError.temporary("the stream '\(streamName)' does not exist")
        }
        sent = state.last
        stored = state.last
        unstored = []
        storedVersion = 0
        sentCommit = ""
        position = nil
        newestSnapshot = try stream.lastMessage(of: stream.completions).flatMap(\.first)
        guard let (message, foreign) = try stream.lastOwnMessage(state) else { return }
        if foreign > 0 {
            status.update { $0.skipped += foreign }
            progress.report(
                "skipped messages of the stream '\(streamName)' after message \(message.sequence), which Moonpool has not "
                    + "written: \(foreign)")
        }
        let identity = message.headers[MessageHeader.store] ?? ""
        // A copy from before the first commit of the stream has an identity of its own.
        let canAdopt = record.stream == streamName
        if options.takeover == .adoption, !isPublisher, canAdopt { record.identity = identity }
        guard identity == record.identity else {
            throw ReplicationError.fatal(
                "the stream '\(streamName)' contains the commits of another store; use another stream"
                    + (canAdopt
                        ? ", or drop these commits and continue with all objects of this store: moonpool publish … --adopt"
                        : ""))
        }
        if options.lease != nil, earlier == nil {
            let lease = message.headers[MessageHeader.lease].flatMap { UInt64($0) }
            // A write that has begun before the lease ends before the lock is free.
            let waits = !store.isInWrite
            if waits { try store.beginWrite() }
            earlier = (store.version, lease ?? 0)
            if waits { try store.cancelWrite() }
        }
        // If the publisher ended between two parts, followers drop the incomplete commit.
        let isComplete = message.isComplete
        sentCommit = message.completeCommit
        if !isComplete, sentCommit.isEmpty, message.headers[MessageHeader.commit] != nil { return }
        let version = try store.version(ofCommit: sentCommit)
        guard version != nil || options.takeover != nil && !isPublisher else {
            throw ReplicationRecord.secondHistory(
                "the stream '\(streamName)'", message.version ?? 0, sentCommit)
        }
        position = version
        storedVersion = isComplete ? version ?? 0 : 0
    }

    /// Makes the store the stream's publisher: first a message, which the stream only accepts directly after its last one,
    /// and then, in a commit with the same identity, the store.
    ///
    /// If the process ends between the two, the store is unchanged, and does not have the stream's last commit. The write
    /// transaction is open meanwhile.
    private func takeOver(_ stream: JetStream) throws {
        try store.beginWrite()
        defer { if store.isInWrite { cancelTakeover() } }
        try takePosition(of: stream)
        let before = store.version
        if takeover?.after != before || takeover?.commit != sentCommit {
            let isAtEnd =
                position == before
                || record.role == .follower && record.sequence == sent && record.commit.isEmpty
            guard isAtEnd || options.takeover == .adoption else {
                throw ReplicationError.behind(
                    "the stream '\(streamName)' has other commits than the store; follow it to its end first"
                )
            }
            let commit = Store.newCommitIdentity()
            takeover = (commit, before)
            try publishTakeover(commit, after: before, isEmpty: position == before, stream)
        }
        record.role = .publisher
        record.stream = streamName
        try record.write(to: store, changesRole: true, isClustered: options.lease != nil)
        try store.setCommitIdentity(sentCommit)
        try store.commitWrite()
        isPublisher = true
        store.isReplicating = options.lease != nil
        position = store.version
        storedVersion = store.version
        status.update {
            $0.version = storedVersion
            $0.roleStart = storedVersion
            $0.streamLease = options.lease ?? 0
        }
        held = try store.frozenView()
        progress.report("became the publisher of the stream '\(streamName)' at message \(sent)")
    }

    private func publishTakeover(
        _ commit: String, after version: UInt64, isEmpty: Bool, _ stream: JetStream
    ) throws {
        var parts = Parts(
            self, stream, subject: isEmpty ? stream.commits : stream.snapshots,
            version: version + 1, since: isEmpty ? version : nil, commit)
        var lines = ReplicationLines(partSize: partSize(stream)) { try parts.add($0) }
        let last =
            try isEmpty
            ? lines.emptyCommit(version + 1, since: version)
            : lines.snapshot(store.frozenView(), catalog: store.schemaCatalog())
        try parts.finish(last)
        try awaitAnswers(within: isEmpty ? options.limits.request : options.limits.silence)
    }

    private func cancelTakeover() {
        // because: the error that ended the takeover is thrown, and closing the store also ends the write.
        try? store.cancelWrite()
    }

    // MARK: Publishing

    /// The maximum number of messages that the server has not confirmed.
    ///
    /// In a cluster, each message waits for the one before it. Otherwise a late message could follow the first message of
    /// the next writer, which has the sequence number that the late one expects.
    private var window: UInt64 { options.lease == nil ? 512 : 1 }
    /// The number of successive messages of which the server confirms only one.
    private static let answerInterval: UInt64 = 32

    /// Publishes new commits and receives confirmations.
    ///
    /// Returns false if there was nothing to do for a short time.
    private func publishNext() throws -> Bool {
        guard let stream else { return false }
        store.fileMayHaveChanged()
        try store.refresh()
        var hasWork = try takeAnswers(within: 0)
        if sent - stored < window {
            if position != store.version {
                try publishStep(stream)
                hasWork = true
            }
        } else {
            hasWork = try takeAnswers(within: 100) || hasWork
        }
        status.update {
            $0.sequence = stored
            $0.version = storedVersion
            $0.lag = store.version - min(store.version, storedVersion)
        }
        if try sent == stored && position != nil && keepSnapshot(stream) { hasWork = true }
        guard !hasWork else { return true }
        if sent > stored {
            _ = try takeAnswers(within: 1)
            guard ContinuousClock.now - lastAnswer < options.limits.silence else {
                throw ReplicationError.temporary("the NATS server does not respond")
            }
            return true
        }
        // Messages that would fail are not sent.
        guard stream.connection.isOpen else {
            throw ReplicationError.temporary("the connection to NATS was lost")
        }
        lastAnswer = .now
        progress.pause(atMost: .milliseconds(5))
        return false
    }

    /// Publishes a snapshot before the newest one leaves a stream with limits, or after it has left.
    ///
    /// Returns whether it was necessary.
    private func keepSnapshot(_ stream: JetStream) throws -> Bool {
        guard let limits, let description = limits.description else { return false }
        if let looked, ContinuousClock.now - looked.time < .seconds(1),
            limits.messages == 0 || sent - looked.sent < max(1, limits.messages / 4)
        {
            return false
        }
        looked = (.now, sent)
        guard let state = try stream.state(), state.first > 1 else { return false }
        if let newestSnapshot, newestSnapshot >= state.first,
            newestSnapshot - state.first >= (state.last - min(state.first, state.last)) / 2
        {
            return false
        }
        let first = sent + 1
        try publishSnapshot(stream)
        try awaitAnswers()
        guard let state = try stream.state(), state.first <= first else {
            throw ReplicationError.fatal(
                "the stream '\(streamName)' has \(description), too few for a snapshot of the store (\(sent - first + 1) "
                    + "messages)")
        }
        return true
    }

    private func publishStep(_ stream: JetStream) throws {
        guard let since = position, commitsSinceSnapshot < options.snapshotInterval else {
            return try publishSnapshot(stream)
        }
        if store.version > since + 1, try publishEach(after: since, stream) { return }
        guard let change = try store.replicatedChanges(since: since) else {
            return try publishSnapshot(stream)
        }
        try publish(change, since, stream)
        held = change.newer
    }

    /// Publishes each of several commits as a message.
    ///
    /// Returns false if the history cannot read them one by one.
    ///
    /// Commits are read from the newest to the oldest and sent in the opposite order. The oldest commit is sent while
    /// it is read. Newer commits that do not fit into the reserved memory are read again in the next step.
    private func publishEach(after since: UInt64, _ stream: JetStream) throws -> Bool {
        // Even after an error, the publisher must request a confirmation of the next message.
        defer { moreFollows = false }
        var prepared = PreparedCommits(limit: Self.preparedSize)
        let catalog = store.schemaCatalog()
        let size = partSize(stream)
        let isRead = try commits.forEachNewestFirst(after: since) { commit in
            guard commit.since > since else {
                moreFollows = !prepared.isEmpty
                return try publish(commit.change, since, stream)
            }
            let known = try commit.change.changesSchema ? store.schema(of: commit.since) : nil
            try prepared.add(commit, partSize: size, catalog, known: known)
        }
        guard isRead else { return false }
        try prepared.forEachOldestFirst { commit, isLast in
            moreFollows = !isLast
            var parts = try Parts(
                self, stream, subject: stream.commits, version: commit.version, since: commit.since,
                store.view.commitIdentity(of: commit.version))
            for part in commit.parts.dropLast() { try parts.add(part) }
            try parts.finish(commit.parts.last ?? [])
            moved(to: commit.version)
        }
        if position == store.version { held = try store.frozenView() }
        return true
    }

    /// The maximum size in bytes of the commits that wait until older ones are sent.
    private static let preparedSize = 16 << 20

    private func publish(_ change: VersionChange, _ since: UInt64, _ stream: JetStream) throws {
        let version = change.newer.version
        var parts = try Parts(
            self, stream, subject: stream.commits, version: version, since: since,
            store.view.commitIdentity(of: version))
        var lines = ReplicationLines(partSize: partSize(stream)) { try parts.add($0) }
        let known = try change.changesSchema ? store.schema(of: since) : nil
        try parts.finish(
            lines.commit(change, since: since, catalog: store.schemaCatalog(), known: known))
        moved(to: version)
    }

    private func moved(to version: UInt64) {
        position = version
        commitsSinceSnapshot += 1
        status.update { $0.commits += 1 }
    }

    private func publishSnapshot(_ stream: JetStream) throws {
        let before = newestSnapshot
        let view = try store.frozenView()
        var parts = try Parts(
            self, stream, subject: stream.snapshots, version: view.version, since: nil,
            view.commitIdentity(of: view.version))
        var lines = ReplicationLines(partSize: partSize(stream)) { try parts.add($0) }
        let last = try lines.snapshot(view, catalog: store.schemaCatalog())
        try parts.finish(last)
        position = view.version
        held = view
        commitsSinceSnapshot = 0
        status.update { $0.commits += 1 }
        progress.report("published a snapshot of version \(view.version)")
        // Followers can still be reading the messages before this snapshot, but probably not those before the previous
        // snapshot.
        if let before { try stream.purge(before: before) }
    }

    /// Half of the maximum size of a part in bytes, with which messages stay below the limits of server and stream.
    private func partSize(_ stream: JetStream) -> Int {
        var limit = stream.connection.messageLimit
        if let size = limits?.messageSize, size > 0 { limit = min(limit, Int(clamping: size)) }
        return min(256 << 10, max(limit / 4, 16 << 10))
    }

    /// The parts of a commit or snapshot that are being sent.
    private struct Parts {
        private let publisher: Publisher
        private let stream: JetStream
        private let subject: String
        private let version: UInt64
        private let since: UInt64?
        /// The identities of the commits of both versions.
        private let commit: String
        private let sinceCommit: String
        private var count = 0
        private var first: UInt64 = 0

        init(
            _ publisher: Publisher, _ stream: JetStream, subject: String, version: UInt64,
            since: UInt64?, _ commit: String
        ) {
            self.publisher = publisher
            self.commit = commit
            sinceCommit = publisher.sentCommit
            self.stream = stream
            self.subject = subject
            self.version = version
            self.since = since
        }

        mutating func add(_ part: [UInt8]) throws { try send(part, subject, isLast: false) }

        mutating func finish(_ part: [UInt8]) throws {
            try send(part, since == nil ? stream.completions : subject, isLast: true)
        }

        private mutating func send(_ part: [UInt8], _ subject: String, isLast: Bool) throws {
            while publisher.sent - publisher.stored >= publisher.window {
                guard
                    try publisher.takeAnswers(
                        within: publisher.options.limits.silence.milliseconds)
                else {
                    throw ReplicationError.temporary("the NATS server does not respond")
                }
            }
            guard part.count <= stream.connection.messageLimit else {
                throw ReplicationError.fatal(
                    "an object of \(part.count) bytes exceeds the server's limit of "
                        + "\(stream.connection.messageLimit); raise max_payload in its configuration"
                )
            }
            count += 1
            if count == 1 { first = publisher.sent + 1 }
            let record = publisher.record
            var identifier = "\(record.identity)-\(commit)"
            if count > 1 || !isLast || since == nil { identifier += "-\(publisher.sent)" }
            var headers = [
                (MessageHeader.identifier, identifier),
                (MessageHeader.expectedSequence, String(publisher.sent)),
                (MessageHeader.store, record.identity),
                (MessageHeader.publisher, publisher.identifier), (MessageHeader.commit, commit),
                (MessageHeader.version, String(version)), (MessageHeader.part, String(count)),
                (MessageHeader.first, String(first)),
            ]
            // The previous message may be lost, and its sequence number taken by a message of the next publisher.
            if publisher.sent > publisher.stored {
                headers.append((MessageHeader.expectedIdentifier, publisher.sentIdentifier))
            }
            if !sinceCommit.isEmpty { headers.append((MessageHeader.sinceCommit, sinceCommit)) }
            if let since { headers.append((MessageHeader.since, String(since))) }
            if isLast { headers.append((MessageHeader.last, "1")) }
            if let lease = publisher.options.lease {
                let earlier = publisher.earlier.flatMap { version <= $0.version ? $0.lease : nil }
                headers.append((MessageHeader.lease, String(earlier ?? lease)))
            }
            // A confirmation of one message also confirms the messages before it, because the server refuses a message
            // that does not follow the last one.
            let isAnswered =
                !isLast || !publisher.moreFollows || publisher.window == 1
                || publisher.sent % Publisher.answerInterval == 0
            try stream.connection.publish(
                subject, reply: isAnswered ? publisher.inbox : nil, headers: headers, part)
            publisher.sent += 1
            publisher.sentIdentifier = identifier
            guard isLast else { return }
            if since == nil { publisher.newestSnapshot = first }
            publisher.sentCommit = commit
            assert(
                publisher.unstored.last.map { $0.sequence < publisher.sent } ?? true,
                "the messages without an answer are in the order of the stream")
            publisher.unstored.append((publisher.sent, version))
        }
    }

    // MARK: Answers

    /// Waits until the server has stored all messages.
    private func awaitAnswers(within limit: Duration? = nil) throws {
        while sent > stored {
            let limit = limit ?? options.limits.silence
            guard try takeAnswers(within: limit.milliseconds) else {
                throw ReplicationError.temporary("the NATS server does not respond")
            }
        }
    }

    /// Receives the server's confirmations.
    ///
    /// Returns false if none arrived in this time.
    private func takeAnswers(within milliseconds: Int64) throws -> Bool {
        guard let acknowledgments else { return false }
        var hasAnswer = false
        var wait = milliseconds
        while sent > stored, let message = try acknowledgments.next(within: wait) {
            hasAnswer = true
            wait = 0
            lastAnswer = .now
            guard message.headers(MessageHeader.status) == nil else {
                throw ReplicationError.temporary("the stream '\(streamName)' has no leader")
            }
            let answer = try JSONAnswer(message.data)
            guard !answer.hasError else { try refused(answer); continue }
            // The position is read from the stream, so that the process does not send a message twice.
            if answer.flag("duplicate") { try checkPublisher(of: answer.number("seq")) }
            stored = max(stored, answer.number("seq"))
        }
        if let last = unstored.lastIndex(where: { $0.sequence <= stored }) {
            storedVersion = unstored[last].version
            unstored.removeFirst(last + 1)
        }
        return hasAnswer
    }

    private func refused(_ answer: JSONAnswer) throws {
        guard JetStream.isFenced(answer), let stream else {
            throw ReplicationError.temporary("NATS: \(JetStream.reason(answer))")
        }
        try checkPublisher(of: try stream.state()?.last ?? 0)
        throw ReplicationError.temporary("the stream has not received a message")
    }

    /// Throws `fatal` if another process has published a message.
    private func checkPublisher(of sequence: UInt64) throws {
        let headers = try stream?.message(sequence)?.headers ?? [:]
        guard headers[MessageHeader.store] != nil else {
            throw ReplicationError.temporary(
                "message \(sequence) of the stream '\(streamName)' was not written by Moonpool")
        }
        guard headers[MessageHeader.publisher] == identifier else {
            throw ReplicationError.replaced(
                "another process publishes to the stream '\(streamName)'; only one can")
        }
    }
}
