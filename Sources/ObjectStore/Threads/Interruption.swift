import Synchronization

/// Whether the calling thread is to give up what it computes, as its host says it.
///
/// What a query costs is decided by its text, and a text of a hundred characters can ask for more than a life. So
/// evaluations ask now and then. One that is given up leaves a wrong result, which whoever began it must not use:
/// `check()` throws then.
///
/// A host sets it around everything that it does on a thread; without one nothing is given up.
package final class Interruption: Sendable {
    /// That of the calling thread.
    @TaskLocal package static var current: Interruption?

    private let isAsked: @Sendable () -> Bool
    // Atomic because what is local to a thread must be sendable; only one thread uses them.
    private let steps = Atomic(0)
    private let hasGivenUp = Atomic(false)

    /// After how many steps it is asked; a step is about what looking at a value costs.
    private static let pause = 1024

    /// Makes one for the thread that will set it; `isAsked` is called there, and should cost less than a microsecond.
    package init(isAsked: @escaping @Sendable () -> Bool) { self.isAsked = isAsked }

    /// Takes a step, or as much work as some; false when what is computed is to be given up.
    func goesOn(_ count: Int = 1) -> Bool {
        if hasGivenUp.load(ordering: .relaxed) { return false }
        let taken = steps.load(ordering: .relaxed) &+ count
        steps.store(taken < Self.pause ? taken : 0, ordering: .relaxed)
        if taken < Self.pause || !isAsked() { return true }
        hasGivenUp.store(true, ordering: .relaxed)
        return false
    }

    /// Throws `limit_exceeded` if something was given up since the last call: what was computed is not to be used.
    static func check() throws {
        guard let current, current.hasGivenUp.load(ordering: .relaxed) else { return }
        current.hasGivenUp.store(false, ordering: .relaxed)
        throw StoreError(.limitExceeded, "the evaluation of a query was stopped")
    }
}
