import EventLoops
import ObjectStore

/// A script's event loop as its stores see it.
struct LoopScheduler: Scheduler {
    let loop: EventLoop

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { loop.makeWakeup(handler) }
    var isOnThread: Bool { loop.isOnLoop }
    func isSame(as other: any Scheduler) -> Bool { (other as? LoopScheduler)?.loop === loop }
    var canDeliver: Bool { true }
}

extension LoopWakeup: Wakeup {}
