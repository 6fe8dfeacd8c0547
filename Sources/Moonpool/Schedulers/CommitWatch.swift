import ObjectStore
import Synchronization
import SystemCalls

/// Detects commits of other processes in a store's file.
///
/// A committing process signals others by reading one byte of the lock file. If the system has no watches left, a task
/// checks ten times a second.
final class CommitWatch: Sendable {
    private struct Sources {
        var watch: AccessWatcher.Watch?
        var timer: Task<Void, Never>?
    }

    private let shown: Atomic<UInt64>
    private let sources = Mutex(Sources())

    /// Watches the file of a store; nil in memory.
    init?(_ engine: ObjectStore.Store, _ signal: StoreSignal) {
        guard let path = engine.commitSignalPath, let newest = engine.newestVersion else {
            return nil
        }
        shown = Atomic(engine.version)
        let look: @Sendable () -> Void = { [weak self, weak signal] in
            guard let self, newest() != self.shown.load(ordering: .relaxed) else { return }
            signal?.fire()
        }
        let watch = AccessWatcher.shared.watch(path, look)
        let timer: Task<Void, Never>? =
            watch != nil
            ? nil
            : Task.detached {
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(100))
                    look()
                }
            }
        sources.withLock { $0 = Sources(watch: watch, timer: timer) }
    }

    deinit { sources.withLock { $0.timer?.cancel() } }

    /// Records that the store shows a version, which needs no signal.
    func storeMoved(to version: UInt64) { shown.store(version, ordering: .relaxed) }

    /// Ends the watch.
    func cancel() {
        let old = sources.withLock { sources in
            defer { sources = Sources() }
            return sources
        }
        old.timer?.cancel()
    }
}
