import DataFormats
import ObjectStore
import Replication
import Transfer

/// PostgreSQL as an optional sink of commits.
package struct PostgresSink: CommitSink {
    package init() {}

    package func open(
        _ job: DatabaseJob, _ path: String, _ status: ReplicationStatus,
        report: @escaping (String) -> Void
    ) throws -> any ReplicationWork {
        try PostgresPublisher(
            path, job.address, options: job.options, status: status, report: report)
    }
}

/// Publishes the commits of a store to tables of a PostgreSQL database, in order and exactly once.
///
///     let publisher = try PostgresPublisher("zoo.moonpool", "postgres://localhost/zoo")
///     try publisher.run()
///
/// Each step is one transaction that also records the version. It contains one commit, or all commits that occurred
/// during the previous step. Blocks the calling thread, which must be the thread that created the publisher.
package final class PostgresPublisher: ReplicationWork {
    /// The options of a publisher.
    package typealias Options = DatabaseOptions

    /// The state of the publisher.
    package let status: ReplicationStatus
    private let store: Store
    private let address: String
    private let options: Options
    private let record: ReplicationRecord
    private var progress: ReplicationProgress
    private var mirror: PostgresMirror?
    /// The version in the database, and the identity of its commit.
    private var position: (version: UInt64, commit: String)?
    /// The store at that version, if this process still has it open.
    private var older: StoreView?

    /// Opens a store for publishing.
    ///
    /// `report` receives messages about the progress. Throws the errors of opening a store, and
    /// `ReplicationError.fatal` for a follower and for a copy of a publishing store.
    package init(
        _ path: String, _ address: String, options: Options = Options(),
        status: ReplicationStatus = ReplicationStatus(),
        report: @escaping (String) -> Void = { _ in }
    ) throws {
        self.address = address
        self.options = options
        self.status = status
        store = try Store(StoreConfiguration(.file(path)), scheduler: ReplicationThread(status))
        record = try ReplicationRecord.publisher(
            store, path, Self.stream(options), isClustered: false)
        let file = StatusFile(
            path, .publisher, stream: Self.stream(options),
            servers: PostgresAddress.display(address))
        progress = ReplicationProgress(status, file, report: report)
        progress.watchCommits(of: store)
    }

    private static func stream(_ options: Options) -> String { "schema '\(options.schema)'" }

    /// Releases the store.
    package func close() {
        older = nil
        store.close()
        progress.end()
    }

    /// Publishes commits until the status requests a stop.
    ///
    /// Throws `ReplicationError.fatal` for an error that trying again cannot solve, `FormatError` for a value that
    /// PostgreSQL cannot store, and the errors of reading the store.
    package func run() throws {
        defer { progress.end() }
        while !status.isStopping {
            do {
                progress.writeStatus()
                let mirror = try self.mirror ?? connect()
                progress.didSucceed()
                if try publishNext(mirror) { continue }
                if options.stopsAtEnd { return }
                progress.pause(atMost: .milliseconds(20))
            } catch is PostgresMirror.Fenced {
                throw ReplicationError.fatal(
                    "another process publishes to \(Self.stream(options)) of the database; only one can"
                )
            } catch let error as FormatError {
                let isLost = mirror.map { !$0.isConnected } ?? true
                mirror = nil
                status.record(error.description)
                guard isLost, !options.failsFast else { throw error }
                try progress.waitToRetry(after: error.description) {
                    older = nil
                    try store.refresh()
                }
            }
        }
    }

    private func connect() throws -> PostgresMirror {
        let mirror = try PostgresMirror(
            address, schema: options.schema, identity: record.identity)
        self.mirror = mirror
        position = nil
        if let found = try mirror.position() {
            try check(found, mirror)
        } else {
            try fill(mirror, existing: options.replaces ? .replace : .refuse)
        }
        status.recordConnection()
        return mirror
    }

    private func check(_ found: PostgresMirror.Position, _ mirror: PostgresMirror) throws {
        let target = "\(Self.stream(options)) of the database"
        let isOwn = found.identity == record.identity
        if isOwn, let version = try store.version(ofCommit: found.commit) {
            position = (version, found.commit)
            if older?.version != version { older = nil }
            return
        }
        guard options.replaces || options.adopts else {
            guard !isOwn else {
                throw ReplicationRecord.secondHistory(target, found.version, found.commit)
            }
            throw ReplicationError.fatal(
                "\(target) contains another store; use --schema NAME, or --replace to replace its tables"
            )
        }
        try fill(mirror, existing: options.replaces && !isOwn ? .replace : .refill)
    }

    private func fill(
        _ mirror: PostgresMirror, existing: PostgresOptions.ExistingTables
    ) throws {
        let view = try store.frozenView()
        try mirror.fill(view, existing: existing)
        try moved(to: view)
        progress.report("wrote all objects of version \(view.version)")
    }

    private func moved(to view: StoreView) throws {
        position = (view.version, try view.commitIdentity(of: view.version))
        older = view
        status.update {
            $0.version = view.version
            $0.lag = store.version - min(store.version, view.version)
            $0.commits += 1
        }
    }

    /// Publishes new commits.
    ///
    /// Returns false if there were none.
    private func publishNext(_ mirror: PostgresMirror) throws -> Bool {
        store.fileMayHaveChanged()
        try store.refresh()
        guard let position else { return false }
        assert(
            older.map { $0.version == position.version } ?? true,
            "the older version is the one in the database")
        let since = position.version
        status.update {
            $0.version = since
            $0.lag = store.version - min(store.version, since)
        }
        guard since != store.version else { return false }
        guard let change = try store.replicatedChanges(since: since), !change.changesSchema else {
            try fill(mirror, existing: .refill)
            return true
        }
        do {
            try mirror.apply(change, since: position.commit) {
                if let older, older.version == since { return older }
                return try store.at(since)
            }
        } catch let error as StoreError where error.code == .outOfRange {
            // The history no longer contains the keys of deleted objects.
            try fill(mirror, existing: .refill)
            return true
        }
        try moved(to: change.newer)
        return true
    }
}
