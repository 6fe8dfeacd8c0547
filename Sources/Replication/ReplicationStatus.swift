import ObjectStore
import SystemCalls

/// The progress of a publisher or follower; any thread can read it, wait for it and stop the work.
///
///     let status = ReplicationStatus()
///     // … another thread publishes
///     _ = status.wait(atMost: .seconds(5)) { $0.version >= 12 }
///     status.stop()
package final class ReplicationStatus: @unchecked Sendable {
    // Unchecked because the monitor protects all variables.

    /// A copy of the status at one time.
    package struct Snapshot: Sendable {
        /// Whether the store is open, so that work has begun.
        package var hasStarted = false
        /// Whether the work has ended.
        package var hasEnded = false
        /// Whether an error has ended the work; the last error describes it.
        package var hasFailed = false
        /// Whether a server is connected.
        package var isConnected = false
        /// The sequence number of the last message that the server has stored or the follower has applied.
        package var sequence: UInt64 = 0
        /// The publisher's version after this message.
        package var version: UInt64 = 0
        /// The number of published or applied commits and snapshots.
        package var commits = 0
        /// The number of messages in the stream that were ignored, because Moonpool has not written them for the store.
        package var skipped = 0
        /// The number of versions to publish or messages to apply.
        package var lag: UInt64 = 0
        /// Commits per second during the last seconds.
        package var rate = 0.0
        /// The last error; nil if there was none.
        package var lastError: Failure?
        /// Whether the store currently publishes.
        package var isPublisher = false
        /// The last version of the store before its current role as the publisher; the maximum for a follower.
        package var roleStart: UInt64 = 0
        /// The number of the lease of the last message that the store has published or applied.
        package var streamLease: UInt64 = 0
        /// The publisher's version after the last applied message of each of the latest leases.
        package var leaseVersions: [UInt64: UInt64] = [:]
        /// The number of messages that combine commits, such as snapshots: the store does not have the identity of each.
        package var combinations = 0
        /// The lease of the cluster's writer; nil outside of a cluster.
        package var lease: Lease?

        /// The versions of commits that the store has lost, because another member became the writer before they were
        /// published.
        package var lost: [ClosedRange<UInt64>] = []

        /// Whether the commit of a version was lost.
        package func isLost(_ version: UInt64) -> Bool { lost.contains { $0.contains(version) } }

        /// Whether the stream contains the commit of a version of the store.
        package func isStored(_ version: UInt64) -> Bool {
            !isLost(version) && (version <= roleStart || version <= self.version)
        }

        /// Whether the store is the writer of its cluster.
        package var isWriter: Bool { isPublisher && lease?.isValid == true }
    }

    /// What a member knows about the lease of its cluster's writer.
    package struct Lease: Sendable, Hashable {
        /// The number, which grows with each writer; 0 before the first one.
        package var number: UInt64 = 0
        /// The name of the member that holds it.
        package var holder = ""
        /// Whether this member holds it and has enough time left.
        package var isValid = false

        package init(number: UInt64 = 0, holder: String = "", isValid: Bool = false) {
            self.number = number
            self.holder = holder
            self.isValid = isValid
        }
    }

    /// A replication error, with the times at which it occurred and at which the work continued.
    package struct Failure: Sendable, Hashable {
        /// The message.
        package let message: String
        /// The time of the error; for a repeated error, the last time.
        package let time: Timestamp
        /// The time when the work continued; nil if it has not continued.
        package internal(set) var recovery: Timestamp?

        /// The message, the time of the error, and the time when the work continued.
        package var summary: String {
            "\(message) (at \(time)\(recovery.map { ", recovered at \($0)" } ?? ""))"
        }
    }

    private let monitor = Monitor()
    private var current = Snapshot()
    private var isStopped = false
    private var isInterrupted = false
    private var hasSignal = false
    private var meter = RateMeter()
    private var observers: [Int: @Sendable () -> Void] = [:]
    private var lastObserver = 0
    private var roleObserver: [@Sendable () -> Void] = []

    package init() {}

    /// The current status.
    package var snapshot: Snapshot {
        monitor.withLock {
            current.rate = meter.rate(current.commits, at: .now)
            return current
        }
    }

    package func update(_ change: (inout Snapshot) -> Void) {
        let notified = monitor.withLock {
            let before = (current.isWriter, current.hasFailed)
            change(&current)
            monitor.broadcast()
            let isOther = before != (current.isWriter, current.hasFailed)
            return Array(observers.values) + (isOther ? roleObserver : [])
        }
        for observer in notified { observer() }
    }

    /// Calls a function on the working thread after each change of the status, until `body` returns.
    package func observing<Result>(
        with observer: @escaping @Sendable () -> Void, _ body: () throws -> Result
    ) rethrows -> Result {
        let number = monitor.withLock {
            lastObserver += 1
            assert(observers[lastObserver] == nil, "each observer has a number of its own")
            observers[lastObserver] = observer
            return lastObserver
        }
        defer { monitor.withLock { observers[number] = nil } }
        return try body()
    }

    /// Calls a function on the working thread after each change of ``Snapshot/isWriter`` or ``Snapshot/hasFailed``.
    package func observeRole(_ observer: @escaping @Sendable () -> Void) {
        monitor.withLock { roleObserver = [observer] }
    }

    /// Records an error, which has ended the connection.
    package func record(_ error: String) {
        update {
            $0.isConnected = false
            $0.lastError = Failure(message: error, time: .now)
        }
    }

    /// Records a connection, which ends the last error, together with its first values.
    ///
    /// Both are recorded together, because a thread that waits for a connection without lag must not read the lag of an
    /// earlier connection.
    package func recordConnection(_ change: (inout Snapshot) -> Void = { _ in }) {
        update {
            change(&$0)
            $0.isConnected = true
            if $0.lastError?.recovery == nil { $0.lastError?.recovery = .now }
        }
    }

    /// Requests the end of the work.
    package func stop() {
        monitor.withLock {
            isStopped = true
            monitor.broadcast()
        }
    }

    /// Ends the current task of a cluster's member, which begins the next one.
    package func interrupt() {
        monitor.withLock {
            isInterrupted = true
            monitor.broadcast()
        }
    }

    /// Begins a task; returns false after ``stop()``.
    package func beginTask() -> Bool {
        monitor.withLock {
            isInterrupted = false
            return !isStopped
        }
    }

    package var isStopping: Bool { monitor.withLock { isStopped || isInterrupted } }

    /// Ends ``pause(atMost:)``, because there can be new work.
    package func signal() {
        monitor.withLock {
            hasSignal = true
            monitor.broadcast()
        }
    }

    /// Waits for ``signal()``, ``interrupt()`` or ``stop()``, up to a time limit.
    package func pause(atMost time: Duration) {
        wait(atMost: time) { hasSignal || isStopped || isInterrupted }
        monitor.withLock { hasSignal = false }
    }

    /// Waits for ``interrupt()`` or ``stop()``, up to a time limit.
    package func rest(atMost time: Duration) { wait(atMost: time) { isStopped || isInterrupted } }

    /// Waits until the numbers satisfy a condition, up to a time limit; returns whether they do.
    @discardableResult  // because a caller may check the numbers itself
    package func wait(atMost time: Duration, until isReached: (Snapshot) -> Bool) -> Bool {
        wait(atMost: time) { isReached(current) }
    }

    @discardableResult
    private func wait(atMost time: Duration, until isReached: () -> Bool) -> Bool {
        monitor.withLock {
            let (seconds, attoseconds) = max(time, .zero).components
            // A wait of more than a century is not distinguishable from one without an end.
            let whole = Int(min(seconds, 1 << 32)) * 1_000_000_000
            monitor.wait(atMost: whole + Int(attoseconds / 1_000_000_000), while: { !isReached() })
            return isReached()
        }
    }
}

/// Measures the number of events per second, over the last five to ten seconds.
private struct RateMeter {
    private struct Mark {
        let count: Int
        let time: ContinuousClock.Instant
    }

    private var older: Mark?
    private var newer: Mark?

    mutating func rate(_ count: Int, at time: ContinuousClock.Instant) -> Double {
        if let newer, time - newer.time > .seconds(5) {
            older = newer
            self.newer = Mark(count: count, time: time)
        } else if newer == nil {
            newer = Mark(count: count, time: time)
            older = newer
        }
        assert(older != nil && newer != nil, "a meter has both marks after its first event")
        guard let older else { return 0 }
        let (seconds, attoseconds) = (time - older.time).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        return elapsed < 0.001 ? 0 : Double(count - older.count) / elapsed
    }
}
