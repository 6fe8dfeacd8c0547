import EventLoops
import ObjectStore

/// Detects commits of other processes in a store's file.
///
/// A committing process signals others by reading a byte of the lock file, and the system closes the lock file of a
/// process that dies; the watch reports both events. If the system has no file watches left, the watch checks for
/// commits ten times a second. A check costs a few loads if there are no commits. The watch does not keep the loop
/// alive.
final class CommitWatch {
    private var watch: AccessWatch?
    private var timer: LoopTimer?

    /// Starts watching; returns nil if the store has no file.
    ///
    /// With `surroundings`, each check runs as a job of that script on its shared thread.
    init?(_ store: Store, on loop: EventLoop, _ surroundings: ScriptSurroundings? = nil) {
        guard let path = store.commitSignalPath else { return nil }
        let check = { [weak store] () -> Void in store?.fileMayHaveChanged() }
        let job = surroundings?.job(check) ?? check
        watch = try? AccessWatch(path: path, on: loop, job)
        if watch == nil {
            let pause = Duration.milliseconds(100)
            timer = loop.timer(after: pause, every: pause, keepsAlive: false, job)
        }
        // Commits between opening the store and this point have sent no signal.
        job()
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
    }
}
