import ColumnStorage
import Synchronization

/// Tells the stores of one file in this process about each other's commits.
///
/// There is one for each open file, found through a registry; stores of any thread join and leave.
final class StoreCoordinator: Sendable {
    /// The file that the stores share.
    let file: ColumnFile

    private struct Members {
        var next: UInt64 = 0
        var wakeups: [UInt64: any Wakeup] = [:]
    }

    private let members = Mutex(Members())

    private struct WeakCoordinator {
        weak var coordinator: StoreCoordinator?
    }

    private static let registry = Mutex<[ObjectIdentifier: WeakCoordinator]>([:])

    private init(_ file: ColumnFile) {
        self.file = file
    }

    deinit {
        let identifier = ObjectIdentifier(file.lease.environment)
        Self.registry.withLock { registry in
            // Another coordinator may already stand for a file object at the same address.
            if registry[identifier]?.coordinator == nil { registry[identifier] = nil }
        }
    }

    /// The coordinator of a file.
    static func of(_ file: ColumnFile) -> StoreCoordinator {
        registry.withLock { registry in
            if let known = registry[ObjectIdentifier(file.lease.environment)]?.coordinator {
                return known
            }
            let coordinator = StoreCoordinator(file)
            registry[ObjectIdentifier(file.lease.environment)] = WeakCoordinator(
                coordinator: coordinator)
            return coordinator
        }
    }

    /// Adds a store; its wake-up is called after each commit of another one.
    func join(_ wakeup: any Wakeup) -> UInt64 {
        members.withLock { members in
            members.next += 1
            members.wakeups[members.next] = wakeup
            return members.next
        }
    }

    /// Removes a store.
    func leave(_ member: UInt64) {
        _ = members.withLock { $0.wakeups.removeValue(forKey: member) }
    }

    /// Wakes all stores but the one that committed.
    func didCommit(_ member: UInt64) {
        let others = members.withLock { members in
            members.wakeups.filter { $0.key != member }.map(\.value)
        }
        for wakeup in others { wakeup.wake() }
    }
}
