import EventLoops

/// Reloads modules and loaded files as soon as they are written.
///
/// Watches their folders, because editors put a new file in the place of the old one. What is written in pieces is waited
/// for until nothing has come for a moment; nothing is reloaded while an entry runs. On the script's thread.
final class AutomaticReload {
    private weak var session: Session?
    private let loop: EventLoop
    private var watches: [String: FileWatch] = [:]
    private var timer: LoopTimer?
    /// The texts that failed: each is reported once.
    private var failed: [String: String] = [:]
    /// Whether something has been written while an entry runs, and is reloaded behind it.
    private(set) var isDue = false

    private static let pause = Duration.milliseconds(100)

    /// Begins to watch.
    init(_ session: Session) {
        self.session = session
        loop = session.context.loop
        watchFolders()
    }

    deinit {
        timer?.cancel()
        for watch in watches.values { watch.cancel() }
    }

    /// An entry may have loaded what was not watched before, and what has changed meanwhile can be reloaded now.
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
        // A file that is gone is about to come back.
        let names = session.modules.changed.filter { name in
            session.modules.stamp(of: name).map { $0 != failed[name] } ?? false
        }
        for name in names {
            let stamp = session.modules.stamp(of: name)
            failed[name] = session.reloadOne(name) ? nil : stamp
        }
        // Modules that they require now may be in other folders.
        session.modules.noteLoaded()
        watchFolders()
    }
}
