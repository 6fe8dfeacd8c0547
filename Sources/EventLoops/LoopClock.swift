import Synchronization

/// What time it is, for timers: monotonic, from an arbitrary origin.
package protocol LoopClock: Sendable {
    /// The time now.
    func now() -> Duration
    /// Whether the time passes by itself; otherwise loops wait until the clock says that it was moved.
    var isReal: Bool { get }
    /// Registers what to call whenever a clock that does not run by itself was moved.
    func whenAdvanced(_ handler: @escaping @Sendable () -> Void)
}

/// The machine's monotonic clock.
package struct SystemClock: LoopClock {
    /// Makes one; they are all the same.
    package init() {}

    /// The time since the machine was started.
    package func now() -> Duration { monotonicTime() }
    /// True.
    package var isReal: Bool { true }
    /// Does nothing: time needs no help here.
    package func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {}
}

/// A clock for tests, which stands still until it is moved.
package final class ManualClock: LoopClock {
    private struct State {
        var now = Duration.zero
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Makes a clock that stands at zero.
    package init() {}

    /// The time it was moved to.
    package func now() -> Duration { state.withLock { $0.now } }
    /// False.
    package var isReal: Bool { false }

    /// Registers a loop that has to look at its timers.
    package func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// Moves the time forward and wakes the loops that live by this clock.
    ///
    /// Any thread.
    package func advance(by step: Duration) {
        let handlers = state.withLock { state in
            state.now += step
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
