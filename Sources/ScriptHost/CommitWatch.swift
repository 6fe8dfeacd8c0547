import EventLoops
import ObjectStore

/// Notices commits of other processes in a store's file.
///
/// Who commits calls by reading a byte of the lock file, and a process that dies before it has called closes that file: the
/// store looks after both. Where the system has no watches left, it looks ten times a second. A look costs a few loads while
/// nobody has committed. Does not keep the loop alive.
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
        // What was committed since the store was opened is nobody's news otherwise.
        look()
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
    }

    private func look() { store?.fileMayHaveChanged() }
}
