import ObjectStore
import SystemCalls

/// A publisher or follower on its own thread, for a program that uses the store at the same time.
///
///     let job = NatsJob.publish(NatsOptions("nats://localhost:4222"), stream: "zoo")
///     let task = try ReplicationTask(job, "zoo.moonpool")
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

    /// Waits for the start of a task whose status it receives; an error ends the task.
    package typealias StartWait = (ReplicationStatus) throws -> Void

    /// Starts a job with a store file.
    ///
    /// Blocks the thread until the store is open, or calls `waiting`. Throws the errors of `waiting` and of opening the
    /// store.
    package init(
        _ job: any ReplicationJob, _ path: String, waiting: StartWait? = nil
    ) throws {
        kind = job.kind
        stream = job.stream
        status = ReplicationStatus()
        try start(job, path, waiting)
    }

    /// The error of opening the store, which the thread passes to the caller.
    private final class Opening: @unchecked Sendable {
        // Unchecked because the error is written before the status reports the start of the work, and read afterward.
        var error: (any Error)?
    }

    private func start(
        _ job: any ReplicationJob, _ path: String, _ waiting: StartWait?
    ) throws {
        let opening = Opening()
        let status = status
        let code = DetachedThread.start {
            ThreadIdentity.nameCurrent("moonpool-nats")
            var hasFailed = false
            do {
                let work = try job.open(path, status) { _ in }
                status.update { $0.hasStarted = true }
                do { try work.run() } catch {
                    status.record(Self.message(of: error))
                    hasFailed = true
                }
                work.close()
            } catch {
                opening.error = error
            }
            status.update { [hasFailed] in
                $0.hasStarted = true
                $0.hasEnded = true
                $0.hasFailed = hasFailed
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

/// The scheduler of a publisher's or follower's thread, which delivers no notifications.
package struct ReplicationThread: Scheduler, Sendable {
    private let owner = ThreadIdentity.current
    private let status: ReplicationStatus?

    private struct Signal: Wakeup {
        let status: ReplicationStatus?
        func wake() { status?.signal() }
        func cancel() {}
    }

    /// Uses the calling thread; stores with new work signal the status.
    package init(_ status: ReplicationStatus? = nil) { self.status = status }

    package var isOnThread: Bool { owner == .current }
    package var canDeliver: Bool { false }
    package func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        Signal(status: status)
    }
}
