import Synchronization
import SystemCalls

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
        assert(!isFiring, "a timer is not called while its handler runs")
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

/// The active timers of one loop, earliest first; equal deadlines in order of creation.
///
/// A binary heap in which every timer stores its index, so that adding, removing and canceling take logarithmic time.
/// New timers are not in the heap until `settle`, because a turn must not call timers that were created during it.
struct TimerQueue {
    private var heap: [LoopTimer] = []
    private var incoming: [LoopTimer?] = []  // nil if one was canceled in the meantime
    private var ages: UInt64 = 0
    private(set) var keepingAlive = 0

    /// The deadline of the earliest timer.
    var nextDeadline: Duration? {
        let newest = incoming.lazy.compactMap { $0?.deadline }.min()
        guard let first = heap.first?.deadline else { return newest }
        return newest.map { min($0, first) } ?? first
    }

    mutating func nextAge() -> UInt64 {
        ages += 1
        return ages
    }

    mutating func insert(_ timer: LoopTimer) {
        timer.queuePosition = .incoming(incoming.count)
        incoming.append(timer)
        if timer.keepsAlive { keepingAlive += 1 }
    }

    /// Moves the new timers into the heap, before a turn calls due timers.
    mutating func settle() {
        for case let timer? in incoming {
            timer.queuePosition = .heap(heap.count)
            heap.append(timer)
            rise(heap.count - 1)
        }
        incoming.removeAll(keepingCapacity: true)
    }

    mutating func remove(_ timer: LoopTimer) {
        switch timer.queuePosition {
        case .nowhere:
            return
        case .incoming(let index):
            assert(incoming[index] === timer, "a timer stores its index in the queue")
            incoming[index] = nil
        case .heap(let index):
            assert(heap[index] === timer, "a timer stores its index in the heap")
            removeFromHeap(index)
        }
        timer.queuePosition = .nowhere
        if timer.keepsAlive { keepingAlive -= 1 }
        assert(
            (0...heap.count + incoming.count).contains(keepingAlive),
            "only queued timers keep the loop alive")
    }

    /// Removes and returns the earliest timer that is due.
    mutating func takeDue(at now: Duration) -> LoopTimer? {
        guard let timer = heap.first, timer.deadline <= now else { return nil }
        remove(timer)
        return timer
    }

    mutating func removeAll() {
        for timer in heap + incoming.compactMap({ $0 }) {
            timer.forgetHandler()
            timer.queuePosition = .nowhere
        }
        heap = []
        incoming = []
        keepingAlive = 0
    }

    private mutating func removeFromHeap(_ index: Int) {
        let last = heap.removeLast()
        guard index < heap.count else { return }
        heap[index] = last
        last.queuePosition = .heap(index)
        sink(index)
        rise(index)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].isBefore(heap[parent]) else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var first = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].isBefore(heap[first]) {
                first = child
            }
            if first == index { return }
            exchange(index, first)
            index = first
        }
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].queuePosition = .heap(a)
        heap[b].queuePosition = .heap(b)
    }
}

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
    package func now() -> Duration { .nanoseconds(MonotonicClock.nanoseconds) }
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
