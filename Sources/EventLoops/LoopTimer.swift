/// A call in the future, once or again and again, on the loop's thread.
///
/// The loop holds the timer while it is active; `cancel` ends it. A repeating timer keeps its rhythm by the clock, skips
/// the beats that were missed, and is not called while its own handler still runs (in a nested `wait`).
package final class LoopTimer {
    private unowned let loop: EventLoop
    private var handler: (() -> Void)?
    private let interval: Duration?
    let keepsAlive: Bool
    let age: UInt64
    private(set) var deadline: Duration
    private var isFiring = false
    /// Where the loop's queue keeps it.
    var place = Place.nowhere

    enum Place { case nowhere, incoming(Int), heap(Int) }

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

    /// Whether it will be called again (or is repeating and being called now).
    package var isActive: Bool { handler != nil && (!isFiring || interval != nil) }

    /// Ends it, inside its own handler too; the handler's captures are dropped.
    ///
    /// Does nothing the second time.
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
        // The handler of a repeating timer stays, because it may cancel the timer, or wait in the loop itself.
        handler()
        isFiring = false
        guard let interval, self.handler != nil else { return }
        let current = loop.clock.now()
        deadline += interval
        if deadline <= current {
            // Missed beats are skipped, not caught up with: the next one lies in the future.
            deadline = interval > .zero ? current + interval : current
        }
        loop.timers.insert(self)
    }

    /// The order in which timers are called.
    func isBefore(_ other: LoopTimer) -> Bool {
        (deadline, age) < (other.deadline, other.age)
    }

    func forgetHandler() { handler = nil }
}

extension EventLoop {
    /// Calls the handler after a delay, and then every `interval` if one is given.
    ///
    /// On the loop's thread.
    ///
    /// Delays below zero count as zero; the first call is never made before the next turn. A timer that does not keep the
    /// loop alive ends with it.
    @discardableResult  // because a one-shot timer need not be cancelled
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
