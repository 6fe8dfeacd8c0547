import EventLoops
import StoreBindings

/// The script that started a worker, as the worker's thread sees it.
struct ParentLink: Sendable {
    /// What the parent calls the worker.
    let worker: String
    /// The worker's number among those of its parent.
    let number: Int
    private let loop: EventLoop
    private let signals: ScriptSignals

    init(worker: String, number: Int, of parent: ScriptContext) {
        self.worker = worker
        self.number = number
        loop = parent.loop
        signals = parent.signals
    }

    /// Runs a job on the parent's thread, between its callbacks.
    ///
    /// False when the parent has ended.
    @discardableResult  // because nobody is left to tell
    func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        let signals = signals
        return loop.post { signals.context.map(job) }
    }
}
