import EventLoops

/// Collects the script's garbage when its loop has had time to spare for a moment.
///
/// A token without references stops observing when it is collected, but an idle script allocates too little to start a
/// collection. The collector does nothing while the script does nothing. The pause before a collection is at least
/// twenty times the duration of the last one, so that it costs 5 % at most.
final class IdleCollector {
    private unowned let context: ScriptContext
    private var timer: LoopTimer?
    private var pause = IdleCollector.shortestPause
    private var memoryAfterCollection = 0
    private static let shortestPause = Duration.milliseconds(200)

    init(_ context: ScriptContext) { self.context = context }

    /// Looks whether the script has done something since the last collection; after every turn.
    func noteTurn() {
        guard timer == nil, context.state.memory.used != memoryAfterCollection else { return }
        timer = context.loop.timer(after: pause, keepsAlive: false) { [weak self] in
            self?.collect()
        }
    }

    func stop() {
        timer?.cancel()
        timer = nil
    }

    private func collect() {
        timer = nil
        let start = context.loop.clock.now()
        context.state.collectGarbage()
        memoryAfterCollection = context.state.memory.used
        pause = max(Self.shortestPause, (context.loop.clock.now() - start) * 20)
    }
}
