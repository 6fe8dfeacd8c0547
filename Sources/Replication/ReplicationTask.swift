import ObjectStore
import SystemCalls

/// A publisher or follower on its own thread, for a program that uses the store at the same time.
///
///     let task = try ReplicationTask.publish("zoo.moonpool", NatsOptions("nats://localhost:4222"), stream: "zoo")
///     try store.write { … }
///     _ = task.wait(forVersion: store.version, atMost: .seconds(5))
///     task.stop()
package final class ReplicationTask: Sendable {
    /// The task: publishing, following, or each in turn as a member of a cluster.
    package enum Kind: Sendable { case publisher, follower, member }
    private let kind: Kind
    /// The current role of the store.
    package var role: ReplicationRole {
        switch kind {
        case .publisher: .publisher
        case .follower: .follower
        case .member: status.snapshot.isWriter ? .publisher : .follower
        }
    }
    /// Whether the store is a member of a cluster.
    package var isMember: Bool { kind == .member }
    /// The name of the stream.
    package let stream: String
    /// The progress.
    package let status: ReplicationStatus

    /// Starts a task, whose thread opens the store with `open`.
    private init(
        _ kind: Kind, _ stream: String, _ waiting: StartWait?,
        _ open: @escaping @Sendable (ReplicationStatus) throws -> Work
    ) throws {
        self.kind = kind
        self.stream = stream
        status = ReplicationStatus()
        try start(waiting, open)
    }

    /// Waits for the start of a task whose status it receives; an error ends the task.
    package typealias StartWait = (ReplicationStatus) throws -> Void

    /// Publishes the commits of a store file.
    ///
    /// Blocks the thread until the store is open, or calls `waiting`. Throws the errors of `waiting` and of creating a
    /// ``Publisher``.
    package static func publish(
        _ path: String, _ servers: NatsOptions, stream: String,
        options: Publisher.Options = Publisher.Options(), waiting: StartWait? = nil
    ) throws -> ReplicationTask {
        try ReplicationTask(.publisher, stream, waiting) { status in
            let publisher = try Publisher(
                path, servers, stream: stream, options: options, status: status)
            return (publisher.run, publisher.close)
        }
    }

    /// Publishes the commits of a store file to tables of a PostgreSQL database.
    ///
    /// Blocks the thread until the store is open, or calls `waiting`. Throws the errors of `waiting` and of creating a
    /// ``PostgresPublisher``.
    package static func publish(
        _ path: String, to database: String,
        options: PostgresPublisher.Options = PostgresPublisher.Options(),
        waiting: StartWait? = nil
    ) throws -> ReplicationTask {
        try ReplicationTask(.publisher, options.schema, waiting) { status in
            let publisher = try PostgresPublisher(
                path, database, options: options, status: status)
            return (publisher.run, publisher.close)
        }
    }

    /// Makes a store file follow a stream.
    ///
    /// Blocks the thread until the store is open, or calls `waiting`. Throws the errors of `waiting` and of creating a
    /// ``Follower``.
    package static func follow(
        _ path: String, _ servers: NatsOptions, stream: String,
        options: Follower.Options = Follower.Options(), waiting: StartWait? = nil
    ) throws -> ReplicationTask {
        try ReplicationTask(.follower, stream, waiting) { status in
            let follower = try Follower(
                path, servers, stream: stream, options: options, status: status)
            return (follower.run, follower.close)
        }
    }

    /// Makes a store file a member of a cluster.
    ///
    /// Blocks the thread until the store is open, or calls `waiting`. Throws the errors of `waiting` and of creating a
    /// ``ClusterMember``.
    package static func cluster(
        _ path: String, _ servers: NatsOptions, stream: String,
        options: ClusterMember.Options = ClusterMember.Options(), waiting: StartWait? = nil
    ) throws -> ReplicationTask {
        try ReplicationTask(.member, stream, waiting) { status in
            let member = try ClusterMember(
                path, servers, stream: stream, options: options, status: status)
            return (member.run, {})
        }
    }

    private typealias Work = (run: () throws -> Void, close: () -> Void)

    /// The error of opening the store, which the thread passes to the caller.
    private final class Opening: @unchecked Sendable {
        // Unchecked because the error is written before the status reports the start of the work, and read afterward.
        var error: (any Error)?
    }

    private func start(
        _ waiting: StartWait?, _ open: @escaping @Sendable (ReplicationStatus) throws -> Work
    ) throws {
        let opening = Opening()
        let status = status
        let code = DetachedThread.start {
            ThreadIdentity.nameCurrent("moonpool-nats")
            do {
                let work = try open(status)
                status.update { $0.hasStarted = true }
                do { try work.run() } catch {
                    status.note(Self.message(of: error))
                }
                work.close()
            } catch {
                opening.error = error
            }
            status.update {
                $0.hasStarted = true
                $0.hasEnded = true
                $0.isConnected = false
            }
        }
        guard code == 0 else {
            throw ReplicationError.fatal("the system cannot start a thread: error \(code)")
        }
        do {
            try waiting?(status)
        } catch {
            status.stop()
            throw error
        }
        while !status.wait(atMost: .seconds(3600), until: \.hasStarted) {}
        if let error = opening.error { throw error }
    }

    private static func message(of error: any Error) -> String {
        (error as? StoreError)?.message ?? "\(error)"
    }

    /// Whether the work has not ended; also true if no server can be reached at the moment.
    package var isRunning: Bool { !status.snapshot.hasEnded }

    /// Waits until the stream holds a version of the publishing store, up to a time limit; returns whether it does.
    package func wait(forVersion version: UInt64, atMost time: Duration) -> Bool {
        status.wait(atMost: time) {
            $0.isStored(version) || $0.isLost(version) || $0.hasEnded
        } && status.snapshot.isStored(version)
    }

    /// Waits until a follower has applied all messages of the stream, up to a time limit; returns whether it has.
    package func waitForEnd(atMost time: Duration) -> Bool {
        status.wait(atMost: time) { $0.isConnected && $0.lag == 0 || $0.hasEnded }
            && status.snapshot.isConnected
    }

    /// Publishes the existing commits, unless no server can be reached, and ends the work.
    ///
    /// Commits that are not published yet are published when the store is published again.
    package func finish(upTo version: UInt64) {
        if role == .publisher {
            status.wait(atMost: .seconds(5)) {
                $0.isStored(version) || $0.hasEnded || !$0.isConnected && $0.lastError != nil
            }
        }
        stop()
    }

    /// Ends the work, and waits until the thread has closed its store.
    package func stop() {
        status.stop()
        status.wait(atMost: .seconds(15), until: \.hasEnded)
    }
}
