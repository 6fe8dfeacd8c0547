import Synchronization

/// A source of time for timers: monotonic, with an arbitrary origin.
package protocol LoopClock: Sendable {
    /// Returns the current time.
    func now() -> Duration
    /// Whether time advances by itself; otherwise, loops wait until the clock reports an advance.
    var isReal: Bool { get }
    /// Registers a handler that runs whenever a manual clock is advanced.
    func whenAdvanced(_ handler: @escaping @Sendable () -> Void)
}

/// The machine's monotonic clock.
package struct SystemClock: LoopClock {
    /// Creates a clock.
    ///
    /// All instances are equivalent.
    package init() {}

    /// Returns the time since the machine was started.
    package func now() -> Duration { monotonicTime() }
    /// True, because time advances by itself.
    package var isReal: Bool { true }
    /// Does nothing, because real time advances by itself.
    package func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {}
}

/// A clock for tests that changes only when it is advanced.
package final class ManualClock: LoopClock {
    private struct State {
        var now = Duration.zero
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    package init() {}

    /// Returns the current time of the clock.
    package func now() -> Duration { state.withLock { $0.now } }
    /// False, because time advances only on request.
    package var isReal: Bool { false }

    /// Registers a handler that runs whenever the clock is advanced.
    package func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// Advances the time and wakes the loops that use this clock.
    ///
    /// Usable on any thread.
    package func advance(by step: Duration) {
        let handlers = state.withLock { state in
            state.now += step
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
