import EventLoops
import ObjectStore

/// Detects commits of other processes in a store's file.
///
/// A committing process signals others by reading a byte of the lock file, and the system closes the lock file of a
/// process that dies; the watch reports both. If the system has no watches left, it checks ten times a second. A check
/// costs a few loads if there are no commits. The watch does not keep the loop alive.
final class CommitWatch {
    private weak var store: Store?
    private var watch: AccessWatch?
    private var timer: LoopTimer?
    private let strand: LoopStrand?

    /// Starts watching; returns nil if the store has no file.
    ///
    /// With a strand, the checks are jobs of that strand.
    init?(_ store: Store, on loop: EventLoop, _ strand: LoopStrand? = nil) {
        guard let path = store.commitSignalPath else { return nil }
        self.store = store
        self.strand = strand
        watch = try? AccessWatch(path: path, on: loop) { [weak self] in self?.look() }
        if watch == nil {
            let pause = Duration.milliseconds(100)
            timer = loop.timer(after: pause, every: pause, keepsAlive: false) { [weak self] in
                self?.look()
            }
        }
        // Commits between opening the store and this point have sent no signal.
        look()
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
    }

    private func look() {
        guard let store else { return }
        guard let strand else { return store.fileMayHaveChanged() }
        strand.run { store.fileMayHaveChanged() }
    }
}
