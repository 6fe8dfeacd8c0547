import LMDBStorage
import MemoryAccounts
import Synchronization

/// The check whether the calling thread should stop its computation.
///
/// A query of a hundred characters can take years, and building an index over a large table takes minutes. Both
/// therefore run this check from time to time. A stopped evaluation leaves a wrong result, which its caller must not
/// use: `check()` then throws.
///
/// A host sets it for all its work on a thread; without one, no computation is stopped.
package final class Interruption: Sendable {
    /// The interruption of the calling thread.
    @TaskLocal package static var current: Interruption?

    private let isAsked: @Sendable () -> Bool
    // These are atomic because thread-local values must be sendable; only one thread uses them.
    private let steps = Atomic(0)
    private let hasGivenUp = Atomic(false)
    /// The memory limit that the computation has reached; 0 if it was stopped for another reason.
    private let reachedLimit = Atomic(0)

    /// The number of steps between two checks; a step costs about as much as reading a value.
    private static let pause = 1024

    /// Creates a check for the thread that will set it; `isAsked` runs on that thread and should take less than a
    /// microsecond.
    package init(isAsked: @escaping @Sendable () -> Bool) { self.isAsked = isAsked }

    /// Counts one or several steps of work; returns false if the computation should stop.
    package func mayContinue(after count: Int = 1) -> Bool {
        if hasGivenUp.load(ordering: .relaxed) { return false }
        let taken = steps.load(ordering: .relaxed) &+ count
        steps.store(taken < Self.pause ? taken : 0, ordering: .relaxed)
        if taken < Self.pause { return true }
        if isAsked() {
            hasGivenUp.store(true, ordering: .relaxed)
            return false
        }
        guard let account = MemoryAccount.current, account.isExhausted else { return true }
        giveUp(MemoryLimitReached(limit: account.limit))
        return false
    }

    /// Returns whether a computation was stopped since the last call; its result must not be used.
    package func takeGivenUp() -> Bool {
        guard hasGivenUp.load(ordering: .relaxed) else { return false }
        hasGivenUp.store(false, ordering: .relaxed)
        return true
    }

    /// Stops the computation because the script has reached its memory limit.
    package func giveUp(_ error: MemoryLimitReached) {
        reachedLimit.store(error.limit, ordering: .relaxed)
        hasGivenUp.store(true, ordering: .relaxed)
    }

    /// Returns the memory limit that stopped a computation since the last call; nil if there is none.
    package func takeReachedLimit() -> MemoryLimitReached? {
        let limit = reachedLimit.exchange(0, ordering: .relaxed)
        return limit > 0 ? MemoryLimitReached(limit: limit) : nil
    }

    /// Counts steps of a write, and throws if the write should stop.
    static func step(_ count: Int) throws(StorageError) {
        guard let current, !current.mayContinue(after: count) else { return }
        _ = current.takeGivenUp()
        if current.takeReachedLimit() != nil {
            throw StorageError(.memoryLimit, call: "a query", file: "")
        }
        throw StorageError(.interrupted, call: "", file: "")
    }
}
