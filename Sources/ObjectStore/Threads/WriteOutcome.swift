import Synchronization

/// The outcome of a write transaction, for references to objects that it has created.
final class WriteOutcome: Sendable {
    enum State: Hashable {
        case open
        /// Committed: stores at this version or a later one show the created objects.
        case committed(version: UInt64)
        case rolledBack
    }

    private static let rolledBack = UInt64.max
    /// The version; 0 while the write is open.
    private let version = Atomic<UInt64>(0)

    var state: State {
        switch version.load(ordering: .acquiring) {
        case 0: .open
        case Self.rolledBack: .rolledBack
        case let version: .committed(version: version)
        }
    }

    func didCommit(as version: UInt64) { self.version.store(version, ordering: .releasing) }

    func didRollBack() { version.store(Self.rolledBack, ordering: .releasing) }
}
