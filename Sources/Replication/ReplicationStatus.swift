import ObjectStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The progress of a publisher or follower; any thread can read it, wait for it and stop the work.
///
///     let status = ReplicationStatus()
///     // … another thread publishes
///     _ = status.wait(atMost: .seconds(5)) { $0.version >= 12 }
///     status.stop()
package final class ReplicationStatus: @unchecked Sendable {
    // Unchecked because the mutex protects all variables, and both handles stay allocated until `deinit`.

    /// A copy of the status at one time.
    package struct Snapshot: Sendable {
        /// Whether the store is open, so that work has begun.
        package var hasStarted = false
        /// Whether the work has ended.
        package var hasEnded = false
        /// Whether a server is connected.
        package var isConnected = false
        /// The sequence number of the last message that the server has stored or the follower has applied.
        package var sequence: UInt64 = 0
        /// The publisher's version after this message.
        package var version: UInt64 = 0
        /// The number of published or applied commits and snapshots.
        package var commits = 0
        /// The number of versions to publish or messages to apply.
        package var lag: UInt64 = 0
        /// Commits per second during the last seconds.
        package var rate = 0.0
        /// The last error; nil if there was none.
        package var lastError: Failure?
    }

    /// A replication error and its end.
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

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var current = Snapshot()
    private var isStopped = false
    private var hasSignal = false
    private var meter = RateMeter()

    package init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// The current status.
    package var snapshot: Snapshot {
        withLock {
            current.rate = meter.rate(current.commits, at: .now)
            return current
        }
    }

    func update(_ change: (inout Snapshot) -> Void) {
        withLock {
            change(&current)
            pthread_cond_broadcast(condition)
        }
    }

    /// Records an error, which has ended the connection.
    func note(_ error: String) {
        update {
            $0.isConnected = false
            $0.lastError = Failure(message: error, time: .now)
        }
    }

    /// Records a connection, which ends the last error, together with its first values.
    ///
    /// Both are recorded together, because a thread that waits for a connection without lag must not read the lag of an
    /// earlier connection.
    func noteConnection(_ change: (inout Snapshot) -> Void = { _ in }) {
        update {
            change(&$0)
            $0.isConnected = true
            if $0.lastError?.recovery == nil { $0.lastError?.recovery = .now }
        }
    }

    /// Requests the end of the work.
    package func stop() {
        withLock {
            isStopped = true
            pthread_cond_broadcast(condition)
        }
    }

    var isStopping: Bool { withLock { isStopped } }

    /// Ends ``pause(atMost:)``, because there can be new work.
    func signal() {
        withLock {
            hasSignal = true
            pthread_cond_broadcast(condition)
        }
    }

    /// Waits for ``signal()`` or ``stop()``, up to a time limit.
    func pause(atMost time: Duration) {
        wait(atMost: time) { hasSignal || isStopped }
        withLock { hasSignal = false }
    }

    /// Waits for ``stop()``, up to a time limit.
    func rest(atMost time: Duration) { wait(atMost: time) { isStopped } }

    /// Waits until the numbers satisfy a condition, up to a time limit; returns whether they do.
    @discardableResult  // because a caller may check the numbers itself
    package func wait(atMost time: Duration, until isReached: (Snapshot) -> Bool) -> Bool {
        wait(atMost: time) { isReached(current) }
    }

    @discardableResult
    private func wait(atMost time: Duration, until isReached: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + time
        return withLock {
            while !isReached() {
                let left = deadline - .now
                guard left > .zero else { return false }
                var moment = timespec()
                clock_gettime(CLOCK_REALTIME, &moment)
                // If the clock is set meanwhile, the wait is at most one round longer.
                let (seconds, attoseconds) = min(left, .seconds(1)).components
                let nanoseconds = moment.tv_nsec + Int(attoseconds / 1_000_000_000)
                moment.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
                moment.tv_nsec = nanoseconds % 1_000_000_000
                pthread_cond_timedwait(condition, mutex, &moment)
            }
            return true
        }
    }
}

/// Measures how often something happens per second, over the last five to ten seconds.
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
        guard let older else { return 0 }
        let (seconds, attoseconds) = (time - older.time).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        return elapsed < 0.001 ? 0 : Double(count - older.count) / elapsed
    }
}
