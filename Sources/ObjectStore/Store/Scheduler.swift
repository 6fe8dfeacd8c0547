/// The interface of a store to its thread.
///
/// Hosts implement it for their event loop; tests use one that they run step by step.
public protocol Scheduler: Sendable {
    /// Creates a wake-up that runs `handler` on the scheduler's thread after each `wake()`.
    ///
    /// Several calls of `wake()` before the handler runs are combined. Called on the scheduler's thread.
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup

    /// Whether the calling thread is the thread of the scheduler.
    var isOnThread: Bool { get }

    /// Returns whether two schedulers belong to the same thread.
    func isSame(as other: any Scheduler) -> Bool

    /// Whether wake-ups are delivered; observers need a scheduler for which this is true.
    var canDeliver: Bool { get }
}

/// A scheduler with timers, which observers with a pace need.
public protocol TimingScheduler: Scheduler {
    /// Creates a timer that runs `handler` on the scheduler's thread each time it fires.
    ///
    /// Called on the scheduler's thread.
    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer
}

/// A timer of a scheduler's thread, used on that thread only.
public protocol SchedulerTimer: AnyObject {
    /// Starts the timer, which fires once after a time, and cancels an earlier start.
    func start(after time: Duration)

    /// Stops the timer, which can be started again.
    func cancel()
}

/// A handle that runs a handler on a scheduler's thread.
public protocol Wakeup: Sendable {
    /// Requests a run of the handler; any thread may call it, and it never blocks.
    func wake()

    /// Ends the wake-up, so the handler never runs again; called on the scheduler's thread.
    func cancel()
}
