import ColumnStorage
import Synchronization

/// Notifies the stores of one file in this process of each other's commits.
///
/// Each open file has one coordinator in a registry; stores of any thread join and leave it.
final class StoreCoordinator: Sendable {
    private let file: ObjectIdentifier
    /// The number of the file: a later one may be open at the same memory address while a closed store still exists.
    private let number: UInt64
    /// The versions that this process has pinned, with their holders.
    let pins = VersionRegistry()
    /// The latest commits that scripts of this process have made or that the process has detected.
    let commits = CommitLog()

    /// The upper bounds of the keys of objects in writes that were rolled back.
    ///
    /// The next writes of this process use greater keys, so that a handle of such an object never leads to another one.
    private let discardedKeys = Mutex<[TableID: ObjectKey]>([:])

    /// The number of the store of this process that has begun a write last.
    let writer = Atomic<UInt64>(0)

    private struct Member {
        let wakeup: any Wakeup
        let holder: VersionHolder
        var isObserving = false
    }

    private struct Members {
        var next: UInt64 = 0
        var stores: SortedMap<UInt64, Member> = SortedMap()
    }

    private let members = Mutex(Members())

    private struct WeakCoordinator {
        weak var coordinator: StoreCoordinator?
    }

    private static let registry = Mutex<[ObjectIdentifier: WeakCoordinator]>([:])

    private init(_ file: ColumnFile) {
        self.file = file.identity
        number = file.number
    }

    deinit {
        // A coordinator may already exist for another file at the same memory address. `other` keeps it alive, because
        // releasing its last reference inside the lock would acquire the lock again.
        let other = Self.registry.withLock { registry in
            let other = registry[file]?.coordinator
            if other == nil { registry[file] = nil }
            return other
        }
        withExtendedLifetime(other) {}
    }

    /// Returns the coordinator of a file.
    static func of(_ file: ColumnFile) -> StoreCoordinator {
        registry.withLock { registry in
            if let known = registry[file.identity]?.coordinator, known.number == file.number {
                return known
            }
            let coordinator = StoreCoordinator(file)
            registry[file.identity] = WeakCoordinator(coordinator: coordinator)
            return coordinator
        }
    }

    /// Whether any store of this process has the file open.
    var hasMembers: Bool { members.withLock { !$0.stores.isEmpty } }

    /// Adds a store; its wake-up is called after each commit of another one.
    func join(_ wakeup: any Wakeup, _ holder: VersionHolder) -> UInt64 {
        members.withLock { members in
            members.next += 1
            members.stores[members.next] = Member(wakeup: wakeup, holder: holder)
            return members.next
        }
    }

    /// Removes a store.
    func leave(_ member: UInt64) {
        members.withLock { $0.stores[member] = nil }
    }

    /// Records whether a store has observers.
    func record(_ member: UInt64, isObserving: Bool) {
        members.withLock { $0.stores[member]?.isObserving = isObserving }
    }

    /// The holder of the store that has begun a write last; nil if it has left.
    var writerHolder: VersionHolder? {
        members.withLock { $0.stores[writer.load(ordering: .relaxed)]?.holder }
    }

    /// The upper bounds of the keys that the next write must not use.
    var reservedKeys: [TableID: ObjectKey] { discardedKeys.withLock { $0 } }

    /// Reserves the keys of a write that was rolled back.
    func reserveKeys(_ bounds: [TableID: ObjectKey]) {
        guard !bounds.isEmpty else { return }
        discardedKeys.withLock { known in
            known.merge(bounds) { $0.rawValue > $1.rawValue ? $0 : $1 }
        }
    }

    /// Wakes all stores except the one that committed.
    ///
    /// Stores with observers are woken first, so the others do not delay them.
    func didCommit(_ member: UInt64) {
        // Without other stores, nothing is copied.
        let others = members.withLock { $0.stores.count > 1 ? $0.stores : nil }
        guard let stores = others else { return }
        for isObserving in [true, false] {
            for (number, store) in stores where number != member {
                if store.isObserving == isObserving { store.wakeup.wake() }
            }
        }
    }
}
