import EventLoops

/// Reloads modules and loaded files when their files change.
///
/// Watches the folders of the files, because editors replace a file instead of writing to it. Waits until 100 ms have
/// passed without a change, so that a file written in several parts is reloaded once. Reloads nothing while an entry
/// runs.
///
/// Thread: the script's thread.
final class AutomaticReload {
    private weak var session: Session?
    private let loop: EventLoop
    private var watches: [String: FileWatch] = [:]
    private var timer: LoopTimer?
    /// The stamps of files whose reload failed, so that each failure is reported once.
    private var failed: [String: String] = [:]
    /// Whether a file changed while an entry was running; it is reloaded when the entry ends.
    private(set) var isDue = false

    private static let pause = Duration.milliseconds(100)

    /// Starts watching the folders of the loaded files.
    init(_ session: Session) {
        self.session = session
        loop = session.context.loop
        watchFolders()
    }

    deinit {
        timer?.cancel()
        for watch in watches.values { watch.cancel() }
    }

    /// Watches folders of files that the entry has loaded, and reloads files that changed while it ran.
    func entryHasEnded() {
        watchFolders()
        if isDue { notice() }
    }

    private func watchFolders() {
        for folder in session?.modules.folders ?? [] where watches[folder] == nil {
            watches[folder] = try? FileWatch(path: folder, on: loop) { [weak self] in self?.notice()
            }
        }
    }

    private func notice() {
        isDue = false
        timer?.cancel()
        timer = loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in self?.look() }
    }

    private func look() {
        guard let session else { return }
        if session.isRunning {
            isDue = true
            return
        }
        // A missing file is usually being replaced.
        let names = session.modules.changed.filter { name in
            session.modules.stamp(of: name).map { $0 != failed[name] } ?? false
        }
        for name in names {
            let stamp = session.modules.stamp(of: name)
            failed[name] = session.reloadOne(name) ? nil : stamp
        }
        // Reloaded modules can require modules in other folders.
        session.modules.noteLoaded()
        watchFolders()
    }
}
