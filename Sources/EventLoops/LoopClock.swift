import Synchronization

/// What time it is, for timers: monotonic, from an arbitrary origin.
public protocol LoopClock: Sendable {
    /// The time now.
    func now() -> Duration
    /// Whether the time passes by itself; otherwise loops wait until the clock says that it was moved.
    var isReal: Bool { get }
    /// Registers what to call whenever a clock that does not run by itself was moved.
    func whenAdvanced(_ handler: @escaping @Sendable () -> Void)
}

/// The machine's monotonic clock.
public struct SystemClock: LoopClock {
    /// Makes one; they are all the same.
    public init() {}

    /// The time since the machine was started.
    public func now() -> Duration { monotonicTime() }
    /// True.
    public var isReal: Bool { true }
    /// Does nothing: time needs no help here.
    public func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {}
}

/// A clock for tests, which stands still until it is moved.
public final class ManualClock: LoopClock {
    private struct State {
        var now = Duration.zero
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Makes a clock that stands at zero.
    public init() {}

    /// The time it was moved to.
    public func now() -> Duration { state.withLock { $0.now } }
    /// False.
    public var isReal: Bool { false }

    /// Registers a loop that has to look at its timers.
    public func whenAdvanced(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.handlers.append(handler) }
    }

    /// Moves the time forward and wakes the loops that live by this clock.
    ///
    /// Any thread.
    public func advance(by step: Duration) {
        let handlers = state.withLock { state in
            state.now += step
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
