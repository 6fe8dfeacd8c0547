import Transfer

/// A sink of commits: an optional part of the program that replicates stores.
///
/// This module has what every program needs: the record in a store's file, the status, and the thread. Parts register
/// themselves in ``CommitSinks``.
package protocol CommitSink<Job>: Sendable {
    associatedtype Job: ReplicationJob
    /// Opens a store for a job.
    ///
    /// `report` receives messages about the progress. Throws the errors of opening a store, and
    /// `ReplicationError.fatal` for a store whose record does not fit the job.
    func open(
        _ job: Job, _ path: String, _ status: ReplicationStatus,
        report: @escaping (String) -> Void
    ) throws -> any ReplicationWork
}

/// An opened store that publishes or follows; confined to the thread that has opened it.
package protocol ReplicationWork {
    /// The state of the work.
    var status: ReplicationStatus { get }
    /// Publishes or follows until the status requests a stop, or all is done.
    ///
    /// Throws `ReplicationError.fatal` for an error that trying again cannot solve, `FormatError` for a value that the
    /// target cannot store, and the errors of the store.
    func run() throws
    /// Releases the store.
    func close()
}

/// The parts that can replicate stores.
package enum CommitSinks {
    package static let nats = OptionalPart<any CommitSink<NatsJob> & RequestNetwork>(
        "NATS", trait: "NATS")
    package static let postgres = OptionalPart<any CommitSink<DatabaseJob>>(
        "PostgreSQL", trait: "PostgreSQL")
}

/// What happens to a store, and where.
package protocol ReplicationJob: Sendable {
    /// Whether the store publishes, follows, or does each in turn.
    var kind: ReplicationTask.Kind { get }
    /// The name of the stream, or of the schema of a database.
    var stream: String { get }
    /// Opens a store with the part for the job.
    ///
    /// Throws `unsupported` without the part, and the errors of ``CommitSink/open(_:_:_:report:)``.
    func open(
        _ path: String, _ status: ReplicationStatus, report: @escaping (String) -> Void
    ) throws -> any ReplicationWork
}

extension ReplicationJob {
    /// Opens a store with a new status.
    package func open(
        _ path: String, report: @escaping (String) -> Void
    ) throws -> any ReplicationWork {
        try open(path, ReplicationStatus(), report: report)
    }
}

/// A job with a NATS stream.
package enum NatsJob: ReplicationJob {
    case publish(NatsOptions, stream: String, PublisherOptions = PublisherOptions())
    case follow(NatsOptions, stream: String, FollowerOptions = FollowerOptions())
    case join(NatsOptions, stream: String, MemberOptions = MemberOptions())

    package var kind: ReplicationTask.Kind {
        switch self {
        case .publish: .publisher
        case .follow: .follower
        case .join: .member
        }
    }

    package var stream: String {
        switch self {
        case .publish(_, let stream, _), .follow(_, let stream, _), .join(_, let stream, _): stream
        }
    }

    package func open(
        _ path: String, _ status: ReplicationStatus, report: @escaping (String) -> Void
    ) throws -> any ReplicationWork {
        try CommitSinks.nats.required().open(self, path, status, report: report)
    }
}

/// The publication of a store to tables of a PostgreSQL database.
package struct DatabaseJob: ReplicationJob {
    package let address: String
    package let options: DatabaseOptions

    package init(_ address: String, _ options: DatabaseOptions = DatabaseOptions()) {
        self.address = address
        self.options = options
    }

    package var kind: ReplicationTask.Kind { .publisher }
    package var stream: String { options.schema }

    package func open(
        _ path: String, _ status: ReplicationStatus, report: @escaping (String) -> Void
    ) throws -> any ReplicationWork {
        try CommitSinks.postgres.required().open(self, path, status, report: report)
    }
}

/// A replication error.
package enum ReplicationError: Error, CustomStringConvertible {
    /// No server can be reached, or the server does not reply: trying again may help.
    case temporary(String)
    /// Trying again does not help.
    case fatal(String)
    /// Another store or process has become the stream's publisher.
    case replaced(String)
    /// The stream has commits that a future publisher has not applied.
    case behind(String)

    /// The error, and the solution.
    package var description: String {
        switch self {
        case .temporary(let reason), .fatal(let reason), .replaced(let reason), .behind(let reason):
            reason
        }
    }
}
