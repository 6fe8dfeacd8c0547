import ObjectStore
import SystemCalls
import Transfer

/// The reports of a publisher or follower, and its pauses after errors.
package struct ReplicationProgress {
    package let status: ReplicationStatus
    /// Receives messages for the user.
    package let report: (String) -> Void
    private var file: StatusFile
    private var backOff: BackOff
    private var commitWatch: AccessWatcher.Watch?

    package init(
        _ status: ReplicationStatus, _ file: StatusFile,
        maxPause: Duration = ConnectionLimits().pause, report: @escaping (String) -> Void
    ) {
        backOff = BackOff(maximum: maxPause)
        self.status = status
        self.file = file
        self.report = report
    }

    /// Ends pauses when another process or thread commits to a store.
    package mutating func watchCommits(of store: Store) {
        commitWatch = store.commitSignalPath.flatMap { path in
            AccessWatcher.shared.watch(path) { [status] in status.signal() }
        }
    }

    /// Waits for a commit, a message or a stop.
    ///
    /// The time limit is for systems without file watches; with them, it is ten times as long.
    package func pause(atMost limit: Duration) {
        status.pause(atMost: commitWatch == nil ? limit : limit * 10)
    }

    /// Sets the role that the reports contain.
    package mutating func setRole(_ role: ReplicationRole) { file.role = role }

    /// Reports the status to other processes, at most once a second.
    package mutating func writeStatus() { file.writeEachSecond(status) }

    /// Ends the growth of the pauses, because an attempt has succeeded.
    package mutating func didSucceed() { backOff.reset() }

    /// Reports an error that another attempt can solve, and waits.
    ///
    /// `release` is called before a long wait: a version that is read for a long time prevents the file from reusing
    /// space.
    package mutating func waitToRetry(
        after reason: String, beforeLongWait release: () throws -> Void = {}
    ) throws {
        let milliseconds = backOff.next()
        report("\(reason); trying again in \(milliseconds) ms")
        if milliseconds > 2000 { try release() }
        file.write(status)
        status.rest(atMost: .milliseconds(milliseconds))
    }

    /// Reports the end of the work.
    package mutating func end() {
        commitWatch = nil
        file.write(status, hasEnded: true)
    }
}

/// Delays between attempts, which grow after each failure up to a limit.
package struct BackOff {
    private static let first = 100
    private let maximum: Int
    private var pause = first

    package init(maximum: Duration = ConnectionLimits().pause) {
        self.maximum = Int(maximum.milliseconds)
    }

    /// Returns the milliseconds to wait before the next attempt.
    package mutating func next() -> Int {
        defer { pause = pause * 2 }
        pause = min(pause, maximum)
        return pause + Int.random(in: 0...pause / 4)
    }

    package mutating func reset() { pause = Self.first }
}

extension Duration {
    /// The whole milliseconds.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
