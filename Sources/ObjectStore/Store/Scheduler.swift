/// The thread that a store belongs to, as far as the store must know it.
///
/// This is all that ties a store to an event loop: hosts adapt theirs, tests drive one by hand.
public protocol Scheduler: Sendable {
    /// Makes a wake-up that runs `handler` on the scheduler's thread, some time after each `wake()`;
    /// several wakes before that run it once. Called on the scheduler's thread.
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup

    /// Whether the calling thread is the scheduler's.
    var isOnThread: Bool { get }

    /// Whether two schedulers stand for the same thread.
    func isSame(as other: any Scheduler) -> Bool

    /// Whether wake-ups are ever delivered. Observing needs a scheduler that can.
    var canDeliver: Bool { get }
}

/// A handle that makes a handler run on a scheduler's thread.
public protocol Wakeup: Sendable {
    /// Asks for the handler to run. Any thread may call it; never blocks.
    func wake()

    /// Ends the wake-up: the handler never runs again. On the scheduler's thread.
    func cancel()
}
