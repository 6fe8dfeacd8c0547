import EventLoops
import ObjectStore

/// The scheduler of a script's stores, which runs on the script's event loop.
struct LoopScheduler: TimingScheduler {
    let loop: EventLoop
    /// The jobs of the script on a shared thread; nil on the script's own thread.
    let strand: LoopStrand?

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        loop.makeWakeup(inStrand(handler))
    }
    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer {
        LoopSchedulerTimer(loop, inStrand(handler))
    }

    private func inStrand(_ handler: @escaping () -> Void) -> () -> Void {
        guard let strand else { return handler }
        return { strand.run(handler) }
    }

    var isOnThread: Bool { loop.isOnLoop }
    func isSame(as other: any Scheduler) -> Bool { (other as? LoopScheduler)?.loop === loop }
    var canDeliver: Bool { true }
}

extension LoopWakeup: Wakeup {}

/// A timer that delays an observer's calls.
///
/// The observer's token keeps the script alive, so the timer does not have to.
private final class LoopSchedulerTimer: SchedulerTimer {
    private let loop: EventLoop
    private let handler: () -> Void
    private var timer: LoopTimer?

    init(_ loop: EventLoop, _ handler: @escaping () -> Void) {
        self.loop = loop
        self.handler = handler
    }

    func start(after time: Duration) {
        timer?.cancel()
        timer = loop.timer(after: time, keepsAlive: false, handler)
    }

    func cancel() {
        timer?.cancel()
        timer = nil
    }
}
