import LMDBStorage
import Synchronization

/// Says whether the calling thread is to give up what it computes.
///
/// A query of a hundred characters can take years, and building an index over a large table takes minutes. So both ask now
/// and then. An evaluation that is given up leaves a wrong result, which its caller must not use: `check()` throws
/// then.
///
/// A host sets it around everything that it does on a thread; without one nothing is given up.
package final class Interruption: Sendable {
    /// The interruption of the calling thread.
    @TaskLocal package static var current: Interruption?

    private let isAsked: @Sendable () -> Bool
    // Atomic because what is local to a thread must be sendable; only one thread uses them.
    private let steps = Atomic(0)
    private let hasGivenUp = Atomic(false)

    /// After how many steps it is called; a step is about what looking at a value costs.
    private static let pause = 1024

    /// Makes one for the thread that will set it; `isAsked` is called there, and should cost less than a microsecond.
    package init(isAsked: @escaping @Sendable () -> Bool) { self.isAsked = isAsked }

    /// Takes a step, or as much work as some; false when what is computed is to be given up.
    package func goesOn(_ count: Int = 1) -> Bool {
        if hasGivenUp.load(ordering: .relaxed) { return false }
        let taken = steps.load(ordering: .relaxed) &+ count
        steps.store(taken < Self.pause ? taken : 0, ordering: .relaxed)
        if taken < Self.pause || !isAsked() { return true }
        hasGivenUp.store(true, ordering: .relaxed)
        return false
    }

    /// Whether something was given up since the last call: what was computed is not to be used.
    package func takeGivenUp() -> Bool {
        guard hasGivenUp.load(ordering: .relaxed) else { return false }
        hasGivenUp.store(false, ordering: .relaxed)
        return true
    }

    /// Takes steps of a write, and throws if it is to be given up.
    static func step(_ count: Int) throws(StorageError) {
        guard let current, !current.goesOn(count) else { return }
        _ = current.takeGivenUp()
        throw StorageError(.interrupted, call: "", file: "")
    }
}
