import EventLoops

/// Collects the garbage of a script while its loop is idle.
///
/// A token without references stops observing when it is collected, but an idle script allocates too little to start a
/// collection. The collector runs only after the script has run code. The pause before a collection is at least twenty
/// times the duration of the last one, so that collections take at most 5 % of the time.
final class IdleCollector {
    private unowned let context: ScriptContext
    private var timer: LoopTimer?
    private var pause = IdleCollector.shortestPause
    private var memoryAfterCollection = 0
    private static let shortestPause = Duration.milliseconds(200)

    init(_ context: ScriptContext) { self.context = context }

    /// Plans a collection if the script has run code since the last one; called after every turn.
    func recordTurn() {
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
