import Synchronization

/// A handler that other threads may ask the loop to call: many requests before it is called make one call.
///
/// Made on the loop's thread. `wake` may be called from any thread and from a signal handler. The loop holds the handler
/// until `cancel`, or its own end; dropping the value does not cancel.
package final class LoopWakeup: @unchecked Sendable {
    // Unchecked because: the flags are atomic, and the handler is touched on the loop's thread alone.
    private let isPending = Atomic<Bool>(false)
    private let isCancelled = Atomic<Bool>(false)
    private let signal: LoopSignal
    private weak var loop: EventLoop?
    private var handler: (() -> Void)?

    init(loop: EventLoop, handler: @escaping () -> Void) {
        signal = loop.signal
        self.loop = loop
        self.handler = handler
    }

    /// Asks for one call of the handler in a coming turn.
    ///
    /// Any thread; does nothing after `cancel` or the loop's end.
    package func wake() {
        if isCancelled.load(ordering: .relaxed) { return }
        if !isPending.exchange(true, ordering: .acquiringAndReleasing) { signal.send() }
    }

    /// The same in a callback of libuv, on the loop's thread: the turn that follows looks anyway, and need not be called.
    func note() { isPending.store(true, ordering: .releasing) }

    /// Ends it, from any thread.
    ///
    /// A call that is running on the loop's thread meanwhile runs to its end.
    package func cancel() {
        if isCancelled.exchange(true, ordering: .acquiringAndReleasing) { return }
        guard let loop else { return }
        if loop.isOnLoop {
            forget(on: loop)
        } else {
            loop.post { [self] in forget(on: loop) }
        }
    }

    private func forget(on loop: EventLoop) {
        loop.wakeups.removeAll { $0 === self }
        handler = nil
    }

    /// Whether a call is owed.
    var isAwaited: Bool { isPending.load(ordering: .acquiring) }

    func takePending() -> Bool {
        isPending.exchange(false, ordering: .acquiringAndReleasing)
            && !isCancelled.load(ordering: .acquiring)
    }

    func call() { handler?() }
}

extension EventLoop {
    /// Registers a handler for requests from anywhere.
    ///
    /// On the loop's thread.
    package func makeWakeup(_ handler: @escaping () -> Void) -> LoopWakeup {
        attach()
        let wakeup = LoopWakeup(loop: self, handler: handler)
        wakeups.append(wakeup)
        return wakeup
    }
}
