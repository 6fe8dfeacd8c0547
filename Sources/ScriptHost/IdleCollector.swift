import EventLoops

/// Collects the script's garbage when its loop has been idle for a moment.
///
/// A token that nobody holds any more stops observing when it is collected, and an idle script would never get that far.
/// The pause before a collection is at least twenty times what the last one took, so that it costs 5 % at most.
final class IdleCollector {
    private unowned let context: ScriptContext
    private var timer: LoopTimer?
    private static let pause = Duration.milliseconds(200)

    init(_ context: ScriptContext) {
        self.context = context
        schedule(after: Self.pause)
    }

    func stop() {
        timer?.cancel()
        timer = nil
    }

    private var lastMemory = 0

    private func schedule(after pause: Duration) {
        timer = context.loop.timer(after: pause, keepsAlive: false) { [weak self] in
            self?.collect()
        }
    }

    private func collect() {
        let start = context.loop.clock.now()
        // An unchanged figure means that nothing has run since: there is nothing new to collect.
        if context.state.memory.used != lastMemory {
            context.state.collectGarbage()
            lastMemory = context.state.memory.used
        }
        let cost = context.loop.clock.now() - start
        schedule(after: max(Self.pause, cost * 20))
    }
}
