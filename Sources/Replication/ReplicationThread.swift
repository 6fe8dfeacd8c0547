import ObjectStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The scheduler of a publisher's or follower's thread, which delivers no notifications.
package struct ReplicationThread: Scheduler, @unchecked Sendable {
    // Unchecked because the thread's handle is only compared.
    private let owner = pthread_self()
    private let status: ReplicationStatus?

    private struct Signal: Wakeup {
        let status: ReplicationStatus?
        func wake() { status?.signal() }
        func cancel() {}
    }

    /// Uses the calling thread; stores with new work signal the status.
    package init(_ status: ReplicationStatus? = nil) { self.status = status }

    package var isOnThread: Bool { pthread_equal(owner, pthread_self()) != 0 }
    package var canDeliver: Bool { false }
    package func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        Signal(status: status)
    }
}
