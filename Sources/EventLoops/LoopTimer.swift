/// A call at a later time, once or repeatedly, on the loop's thread.
///
/// The loop retains the timer while it is active; `cancel` ends it. A repeating timer keeps its interval regardless of
/// the duration of its handler, skips missed calls, and is not called while its handler runs (in a nested `wait`).
package final class LoopTimer {
    private unowned let loop: EventLoop
    private var handler: (() -> Void)?
    private let interval: Duration?
    let keepsAlive: Bool
    let age: UInt64
    private(set) var deadline: Duration
    private var isFiring = false
    /// The timer's index in the queue.
    var queuePosition = QueuePosition.nowhere

    enum QueuePosition { case nowhere, incoming(Int), heap(Int) }

    init(
        loop: EventLoop, age: UInt64, deadline: Duration, interval: Duration?, keepsAlive: Bool,
        handler: @escaping () -> Void
    ) {
        self.loop = loop
        self.age = age
        self.deadline = deadline
        self.interval = interval
        self.keepsAlive = keepsAlive
        self.handler = handler
    }

    /// Whether the timer will be called again; true for a repeating timer while its handler runs.
    package var isActive: Bool { handler != nil && (!isFiring || interval != nil) }

    /// Ends the timer, also inside its own handler.
    ///
    /// Releases the captures of the handler. Idempotent.
    package func cancel() {
        guard handler != nil else { return }
        loop.preconditionOnLoop()
        handler = nil
        loop.timers.remove(self)
    }

    func fire(at now: Duration) {
        guard let handler else { return }
        isFiring = true
        if interval == nil { self.handler = nil }
        // A repeating timer keeps its handler, because the handler can cancel the timer or wait in the loop.
        handler()
        isFiring = false
        guard let interval, self.handler != nil else { return }
        let current = loop.clock.now()
        deadline += interval
        if deadline <= current {
            // Missed calls are skipped: the next call is in the future.
            deadline = interval > .zero ? current + interval : current
        }
        loop.timers.insert(self)
    }

    /// Whether this timer is called before another one.
    func isBefore(_ other: LoopTimer) -> Bool {
        (deadline, age) < (other.deadline, other.age)
    }

    func forgetHandler() { handler = nil }
}

extension EventLoop {
    /// Calls the handler after a delay, and then repeatedly if `interval` is given.
    ///
    /// Call it on the loop's thread. Delays below zero count as zero; the first call occurs in the next turn at the
    /// earliest. A timer without `keepsAlive` does not keep `run` from returning.
    @discardableResult  // a one-shot timer need not be canceled
    package func timer(
        after delay: Duration, every interval: Duration? = nil, keepsAlive: Bool = true,
        _ handler: @escaping () -> Void
    ) -> LoopTimer {
        attach()
        let timer = LoopTimer(
            loop: self, age: timers.nextAge(), deadline: clock.now() + max(delay, .zero),
            interval: interval, keepsAlive: keepsAlive, handler: handler)
        timers.insert(timer)
        return timer
    }
}
