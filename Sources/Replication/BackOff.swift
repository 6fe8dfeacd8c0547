import Synchronization

/// Waits longer after each failure, up to five seconds.
struct BackOff {
    private var pause = 100

    /// The milliseconds to wait now.
    mutating func next() -> Int {
        defer { pause = min(pause * 2, 5000) }
        return pause + Int.random(in: 0...pause / 4)
    }

    mutating func reset() { pause = 100 }
}

/// What replication has done, and how it is going; any thread may look.
package final class ReplicationStatus: Sendable {
    /// The numbers at one moment.
    package struct Snapshot: Sendable {
        /// Whether a server is connected.
        package var isConnected = false
        /// The stream's sequence number of the last message.
        package var sequence: UInt64 = 0
        /// The publisher's version of the last message.
        package var version: UInt64 = 0
        /// Commits and snapshots that were published or applied.
        package var commits = 0
        /// How many messages or versions are left.
        package var lag: UInt64 = 0
        /// The last error; nil if there was none.
        package var lastError: String?
    }

    private let state = Mutex(Snapshot())
    private let stopping = Mutex(false)

    package init() {}

    /// The numbers now.
    package var snapshot: Snapshot { state.withLock { $0 } }

    func update(_ change: (inout Snapshot) -> Void) { state.withLock { change(&$0) } }

    /// Ends the work soon.
    package func stop() { stopping.withLock { $0 = true } }

    var isStopping: Bool { stopping.withLock { $0 } }
}
