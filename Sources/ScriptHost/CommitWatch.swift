import EventLoops
import ObjectStore

/// Notices commits of other processes in a store's file.
///
/// The committing process calls before and after the commit, and may die in between: whoever looks once may be too early.
/// So after a call the store looks again a few times, which costs one load each.
final class CommitWatch {
    private weak var store: Store?
    private unowned let loop: EventLoop
    private var watch: FileWatch?
    private var timer: LoopTimer?
    private static let pauses: [Duration] = [
        .milliseconds(1), .milliseconds(10), .milliseconds(100), .seconds(1),
    ]

    /// Watches what other processes call by; nil when the store has no file, or the system has no watches left.
    init?(_ store: Store, on loop: EventLoop) {
        guard let path = store.commitSignalPath else { return nil }
        self.store = store
        self.loop = loop
        watch = try? FileWatch(path: path, on: loop) { [weak self] in self?.look(0) }
        if watch == nil { return nil }
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
        watch = nil
        timer = nil
    }

    private func look(_ count: Int) {
        store?.fileMayHaveChanged()
        timer?.cancel()
        // The store may have been closed by one of its observers.
        guard watch != nil, count < Self.pauses.count else { return }
        timer = loop.timer(after: Self.pauses[count], keepsAlive: false) { [weak self] in
            self?.look(count + 1)
        }
    }
}
