import ObjectStore
import SystemCalls

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
