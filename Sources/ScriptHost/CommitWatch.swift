import EventLoops
import ObjectStore

/// Notices commits of other processes in a store's file.
///
/// A committing process signals others by reading a byte of the lock file, and a process that dies before that closes
/// the file: the store watches for both. If the system has no watches left, it checks ten times a second. A check costs
/// a few loads while there are no commits. Does not keep the loop alive.
final class CommitWatch {
    private weak var store: Store?
    private var watch: AccessWatch?
    private var timer: LoopTimer?

    /// Looks from now on; nil when the store has no file.
    init?(_ store: Store, on loop: EventLoop) {
        guard let path = store.commitSignalPath else { return nil }
        self.store = store
        watch = try? AccessWatch(path: path, on: loop) { [weak self] in self?.look() }
        if watch == nil {
            let pause = Duration.milliseconds(100)
            timer = loop.timer(after: pause, every: pause, keepsAlive: false) { [weak self] in
                self?.look()
            }
        }
        // Commits since the store was opened send no signal.
        look()
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
    }

    private func look() { store?.fileMayHaveChanged() }
}
