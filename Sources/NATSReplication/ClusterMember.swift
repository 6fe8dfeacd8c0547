import DataFormats
import ObjectStore
import Replication
import SystemCalls
import Transfer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A store of a cluster: publishes and accepts writes while it holds the lease, and otherwise follows the writer.
///
///     let member = try ClusterMember("zoo.moonpool", NatsOptions("nats://a,b,c"), stream: "zoo")
///     try member.run()
///
/// A store that takes the lease applies the rest of the stream, and becomes the publisher as in a promotion: with a
/// message that the stream accepts only directly after the last applied one. The messages of the previous writer then
/// no longer fit. When it returns, it writes its unpublished commits to a file, restores its store to the last commit
/// in the stream, and follows. Blocks the calling thread, which must be the thread that created the member.
package final class ClusterMember: ReplicationWork {
    /// The options of a member.
    package typealias Options = MemberOptions

    /// The state of the member.
    package let status: ReplicationStatus
    private let path: String
    private let servers: NatsOptions
    private let streamName: String
    private let options: Options
    private let lease: WriterLease
    private let replicas: Int
    private let report: (String) -> Void
    private var progress: ReplicationProgress

    /// Prepares a member, and creates the store if it does not exist.
    ///
    /// `report` receives messages about the progress. Throws the errors of opening a store, and
    /// `ReplicationError.fatal` for names that are not valid.
    package init(
        _ path: String, _ servers: NatsOptions, stream: String, options: Options = Options(),
        status: ReplicationStatus = ReplicationStatus(),
        report: @escaping (String) -> Void = { _ in }
    ) throws {
        try JetStream.check(stream)
        let name = options.name ?? Self.defaultName
        try JetStream.check(name)
        _ = try NatsLibrary.functions()
        self.path = path
        self.servers = servers
        self.options = options
        self.status = status
        self.report = report
        streamName = stream
        replicas = options.replicas ?? (servers.servers.count >= 3 ? 3 : 1)
        lease = WriterLease(
            servers, stream: stream, name: name, replicas: replicas, span: options.leaseDuration,
            store: path, status: status)
        let file = StatusFile(
            path, .follower, stream: stream, servers: servers.display)
        progress = ReplicationProgress(
            status, file, maxPause: ConnectionLimits(lease: options.leaseDuration).pause,
            report: report)
        try join()
    }

    /// Creates the store if it does not exist, and restricts its writes.
    ///
    /// Every process can define the first classes of a store that no stream has filled yet.
    private func join() throws {
        let store = try open()
        defer { store.close() }
        let record = try ReplicationRecord.read(store)
        guard record != nil || !store.schema.classes.isEmpty,
            store.writeAccess != ReplicationRecord.access(record?.role ?? .publisher, true)
        else { return }
        try store.write {
            guard let record else {
                return try store.setReplicationRecord([], .leaseHolder, changesRole: true)
            }
            try record.write(to: store, changesRole: true, isClustered: true)
            // The commit contains nothing that the stream does not have.
            try store.setCommitIdentity(record.commit)
        }
    }

    /// The names of the machine and the process.
    private static var defaultName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        gethostname(&buffer, buffer.count - 1)
        let host = String(
            decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let letters = host.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        return "\(String(letters))-\(getpid())"
    }

    /// Does nothing, because each task of the member closes its store.
    package func close() {}

    private func open() throws -> Store {
        let store = try Store(
            StoreConfiguration(.file(path)), scheduler: ReplicationThread(status))
        store.isReplicating = true
        return store
    }

    /// Publishes or follows until the status requests a stop.
    ///
    /// Throws `ReplicationError.fatal` for an error that trying again cannot solve, and the errors of the store.
    package func run() throws {
        if try record()?.role == .follower { status.update { $0.roleStart = .max } }
        try lease.start()
        defer {
            lease.stop()
            progress.end()
            status.update { $0.hasEnded = true }
        }
        while status.beginTask() {
            do {
                if lease.isHeld { try publish() } else { try follow() }
                progress.didSucceed()
            } catch let error as ReplicationError {
                if case .fatal = error { throw error }
                if case .replaced = error { lease.abandon() }
                status.record(error.description)
                try progress.waitToRetry(after: error.description)
            }
        }
    }

    private func record() throws -> ReplicationRecord? {
        let store = try open()
        defer { store.close() }
        return try ReplicationRecord.read(store)
    }

    // MARK: Holding the lease

    private func publish() throws {
        let isFollower = try record()?.role == .follower
        if isFollower {
            try follow { $0.stopsAtEnd = true }
            guard lease.isHeld, !status.isStopping else { return }
        }
        var options = Publisher.Options()
        options.takeover = isFollower ? .promotion : nil
        options.replicas = replicas
        options.snapshotInterval = self.options.snapshotInterval
        options.lease = status.snapshot.lease?.number
        options.limits = ConnectionLimits(lease: self.options.leaseDuration)
        status.update { $0.version = 0 }
        let publisher = try Publisher(
            path, servers, stream: streamName, options: options, status: status, report: report)
        defer {
            publisher.close()
            status.update { $0.isPublisher = false }
        }
        report("took lease \(options.lease ?? 0) and becomes the writer")
        try publisher.run()
    }

    // MARK: Following

    private func follow(_ change: (inout Follower.Options) -> Void) throws {
        var options = Follower.Options()
        options.isClustered = true
        options.limits = ConnectionLimits(lease: self.options.leaseDuration)
        change(&options)
        status.update { $0.roleStart = .max }
        let follower = try Follower(
            path, servers, stream: streamName, options: options, status: status, report: report)
        defer { follower.close() }
        try status.observing(with: { [lease, status] in
            let known = status.snapshot
            // A store without a commit of the stream could not continue it.
            lease.setPosition(
                known.isConnected && known.version > 0
                    ? WriterLease.Position(sequence: known.sequence) : nil)
        }) { try follower.run() }
    }

    /// Follows the writer.
    ///
    /// A store that was the writer, and one that has never been replicated, first compares its commits with the stream.
    private func follow() throws {
        let role = try record()?.role
        if role != .follower {
            progress.setRole(role ?? .follower)
            guard try mustFollow() else { return }
        }
        try follow { _ in }
    }

    /// Compares the store with the end of the stream, again and again.
    ///
    /// While the stream continues the store's commits, the store waits for the lease. Otherwise it becomes a follower,
    /// and the function returns true. It returns false when the status requests a stop. The store of this function is
    /// closed then, because it would keep its version in the file.
    private func mustFollow() throws -> Bool {
        let limit = lease.requestLimit
        let stream = JetStream(
            try NatsConnection(servers, within: limit), streamName, limit: limit)
        let store = try open()
        defer { store.close() }
        status.recordConnection()
        while !status.isStopping {
            progress.writeStatus()
            store.fileMayHaveChanged()
            try store.refresh()
            if try mustFollow(store, stream) {
                lease.setPosition(nil)
                return true
            }
            status.rest(atMost: limit)
        }
        return false
    }

    /// Compares the store with the end of the stream; returns true if it must follow, or now does.
    private func mustFollow(_ store: Store, _ stream: JetStream) throws -> Bool {
        let state = try stream.state()
        let end = state?.last ?? 0
        let record = try ReplicationRecord.read(store)
        guard end > 0 else {
            // A store without classes has nothing that a stream could begin with.
            lease.setPosition(
                store.schema.classes.isEmpty
                    ? nil : WriterLease.Position(sequence: 0, version: store.version))
            return false
        }
        guard let record else {
            // The follower refuses data of its own, and they remain writable.
            if try store.hasObjects, store.writeAccess != .everyStore {
                try store.write {
                    try store.setReplicationRecord([], .everyStore, changesRole: true)
                }
            }
            return true
        }
        guard let last = try state.flatMap({ try stream.lastOwnMessage($0) })?.message else {
            return false
        }
        guard last.headers[MessageHeader.store] == record.identity else {
            throw ReplicationError.fatal(
                "the stream '\(streamName)' contains the commits of another store; use another stream"
            )
        }
        // Without a commit, the first snapshot is incomplete, and the writer of a part continues.
        let hasCommit = last.isComplete || !last.completeCommit.isEmpty
        if try !hasCommit || store.version(ofCommit: last.completeCommit) != nil {
            lease.setPosition(WriterLease.Position(sequence: end, version: store.version))
            return false
        }
        try stepDown(store, stream, end, record)
        return true
    }

    // MARK: The end of the role as the writer

    /// Makes the store a follower at the last commit that it shares with the stream.
    private func stepDown(
        _ store: Store, _ stream: JetStream, _ end: UInt64, _ record: ReplicationRecord
    ) throws {
        let common = try lastCommon(store, stream, end)
        var next = record
        next.role = .follower
        next.stream = streamName
        next.sequence = common?.sequence ?? 0
        next.version = common?.version ?? 0
        next.commit = common?.completeCommit ?? ""
        let last = store.version
        func write() throws {
            guard store.version == last else {
                throw ReplicationError.temporary("another process has written to the store")
            }
            try next.write(to: store, changesRole: true, isClustered: true)
            try store.setCommitIdentity(next.commit)
        }
        let version = try store.version(ofCommit: next.commit)
        if version == store.version {
            try store.write(write)
        } else if let version, let change = try changes(since: version, store) {
            let file = try freePath(".jsonl")
            let output = try FileWriter(file, like: path)
            var lines = ChangeLines()
            try output.write(lines.header(change.older))
            try lines.write(ChangedObjects(change)) { try output.write($0) }
            try output.finish()
            try store.restore(version, finish: write)
            report(
                "wrote the commits after version \(version), which the stream does not have, to \(file)"
            )
        } else {
            // The history does not separate the unpublished commits; the newest snapshot replaces the data.
            let file = try freePath(".moonpool")
            try store.backup(to: file)
            next.sequence = 0
            next.commit = ""
            try store.write(write)
            report("kept the store with the commits that the stream does not have as \(file)")
        }
        status.update {
            if last > version ?? 0 { $0.lost.append((version ?? 0) + 1...last) }
            $0.roleStart = .max
        }
    }

    /// Returns the changes since a version; nil if the history does not reach back or the schema has changed.
    private func changes(since version: UInt64, _ store: Store) throws -> VersionChange? {
        do {
            return try store.replicatedChanges(since: version, readsOlder: true)
        } catch let error as StoreError where error.code == .outOfRange {
            return nil
        }
    }

    /// Returns the last complete commit of the stream that the store has; nil if the stream no longer contains it.
    private func lastCommon(
        _ store: Store, _ stream: JetStream, _ end: UInt64
    ) throws -> JetStream.Stored? {
        // The stream continues the store up to one message, and another store after it. The store may have forgotten the
        // first messages, so the search begins at the end.
        func known(_ sequence: UInt64) throws -> JetStream.Stored? {
            guard let message = try stream.message(sequence),
                try store.version(ofCommit: message.headers[MessageHeader.commit] ?? "") != nil
            else { return nil }
            return message
        }
        let first = try stream.state()?.first ?? 1
        var (unknown, step) = (end + 1, UInt64(1))
        var common: JetStream.Stored?
        while common == nil, unknown > first {
            let sequence = max(first, unknown - min(step, unknown))
            common = try known(sequence)
            if common == nil { (unknown, step) = (sequence, step * 2) }
        }
        while let last = common, last.sequence + 1 < unknown {
            let middle = last.sequence + (unknown - last.sequence) / 2
            if let later = try known(middle) { common = later } else { unknown = middle }
        }
        guard let common, !common.isComplete else { return common }
        // The writer ended between two parts of a commit.
        guard let first = common.first, first > 1, let before = try stream.message(first - 1) else {
            return nil
        }
        return before.isComplete ? before : nil
    }

    /// Returns the path of a new file beside the store: `STORE-lost-1.jsonl`.
    private func freePath(_ suffix: String) throws -> String {
        for number in 1... {
            let file = "\(path)-lost-\(number)\(suffix)"
            if access(file, F_OK) != 0 { return file }
        }
        return path
    }
}
