import LMDBStorage
import MemoryAccounts
import Synchronization

/// The check whether the calling thread should stop its computation.
///
/// A query of a hundred characters can take years, and building an index over a large table takes minutes. Both
/// therefore run this check from time to time, once for each cluster that they read, and throw its error.
///
/// A host sets it for all its work on a thread; without one, no computation is stopped.
package final class Interruption: Sendable {
    /// The interruption of the calling thread.
    @TaskLocal package static var current: Interruption?

    private let isAsked: @Sendable () -> Bool
    // This is atomic because thread-local values must be sendable; only one thread uses it.
    private let steps = Atomic(0)

    /// The number of steps between two checks; a step costs about as much as reading a value.
    private static let pause = 1024

    /// Creates a check for the thread that will set it; `isAsked` runs on that thread and should take less than a
    /// microsecond.
    package init(isAsked: @escaping @Sendable () -> Bool) { self.isAsked = isAsked }

    /// Counts one or several steps of work.
    ///
    /// Throws `interrupted` if the computation should stop, and `memoryLimit` if the script has taken more memory than
    /// its limit.
    @inline(__always)
    package func step(_ count: Int = 1) throws(StorageError) {
        let taken = steps.load(ordering: .relaxed) &+ count
        steps.store(taken < Self.pause ? taken : 0, ordering: .relaxed)
        if taken >= Self.pause { try check() }
    }

    @inline(never)
    private func check() throws(StorageError) {
        if isAsked() { throw StorageError(.interrupted, call: "", file: "") }
        guard let account = MemoryAccount.current else { return }
        account.measureIfDue()
        if account.isExhausted { throw StorageError(.memoryLimit, call: "a query", file: "") }
    }

    /// Counts steps of the calling thread's work; throws as ``step(_:)-(Int)`` does.
    package static func step(_ count: Int = 1) throws(StorageError) { try current?.step(count) }
}
