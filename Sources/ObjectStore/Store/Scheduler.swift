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

    /// Whether wake-ups are delivered; observers need a scheduler for which this is true.
    var canDeliver: Bool { get }
}

/// A scheduler with timers, which observers need for delayed calls.
public protocol TimingScheduler: Scheduler {
    /// Creates a timer that runs `handler` on the scheduler's thread each time it fires.
    ///
    /// Called on the scheduler's thread.
    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer
}

/// A scheduler of one of several clients, such as scripts, that share a thread: code of one can wait while others run.
package protocol SuspendingScheduler: Scheduler {
    /// Whether the calling code can be suspended.
    var canSuspend: Bool { get }

    /// Suspends the calling code until the condition holds; call it only if ``canSuspend``.
    ///
    /// No other code of the same client runs in the meantime. The condition is checked at once, after each call of
    /// ``resume``, when the client should stop, and every `interval`. Rethrows the errors of the condition. Throws the
    /// error of a stop, and `limit_exceeded` if too many clients are already waiting.
    func suspend(checkingEvery interval: Duration?, until condition: () throws -> Bool) throws

    /// A function that makes the suspended code check its condition, on any thread.
    var resume: @Sendable () -> Void { get }
}

extension Scheduler {
    /// The scheduler, if the calling code can be suspended; nil if it has to block the thread to wait.
    package var suspending: (any SuspendingScheduler)? {
        guard let scheduler = self as? any SuspendingScheduler, scheduler.canSuspend else {
            return nil
        }
        return scheduler
    }
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
