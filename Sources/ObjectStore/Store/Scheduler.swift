/// The thread that a store belongs to, as far as the store must know it.
///
/// This is all that ties a store to an event loop: hosts adapt theirs, tests drive one by hand.
public protocol Scheduler: Sendable {
    /// Makes a wake-up that runs `handler` on the scheduler's thread, some time after each `wake()`;
    /// several wakes before that run it once. Called on the scheduler's thread.
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup

    /// Whether the calling thread is the scheduler's.
    var isOnThread: Bool { get }

    /// Whether two schedulers belong to the same thread.
    func isSame(as other: any Scheduler) -> Bool

    /// Whether wake-ups are ever delivered. Observing needs a scheduler that can.
    var canDeliver: Bool { get }
}

/// A scheduler that has timers, as observers with a pace need them.
public protocol TimingScheduler: Scheduler {
    /// Makes a timer that runs `handler` on the scheduler's thread each time it has run out.
    ///
    /// Called on the scheduler's thread.
    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer
}

/// A timer of a scheduler's thread, used on that thread only.
public protocol SchedulerTimer: AnyObject {
    /// Lets the timer run out once, after a time from now, and not when it would have before.
    func start(after time: Duration)

    /// Stops the timer; it can be started again.
    func cancel()
}

/// A handle that makes a handler run on a scheduler's thread.
public protocol Wakeup: Sendable {
    /// Asks for the handler to run. Any thread may call it; never blocks.
    func wake()

    /// Ends the wake-up: the handler never runs again. On the scheduler's thread.
    func cancel()
}
