import EventLoops
import ObjectStore

/// The scheduler of a script's stores, which runs on the script's event loop.
struct LoopScheduler: TimingScheduler, SuspendingScheduler {
    let loop: EventLoop
    /// The surroundings of the script on a shared thread; nil on the script's own thread.
    let surroundings: ScriptSurroundings?

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        loop.makeWakeup(surroundings?.job(handler) ?? handler)
    }
    func makeTimer(_ handler: @escaping () -> Void) -> any SchedulerTimer {
        LoopSchedulerTimer(loop, surroundings?.job(handler) ?? handler)
    }

    // A read-only section applies to the whole thread, so it would also apply to the other scripts.
    var canSuspend: Bool { surroundings?.jobs.canPark == true && !ReadOnlySection.isActive }

    func suspend(checkingEvery interval: Duration?, until condition: () throws -> Bool) throws {
        guard let surroundings else {
            preconditionFailure("a script on its own thread cannot be suspended")
        }
        try surroundings.suspend(checkingEvery: interval, until: condition)
    }

    var resume: @Sendable () -> Void {
        if let surroundings { surroundings.resume } else { {} }
    }

    var isOnThread: Bool { loop.isOnLoop }
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
