import DataFormats
import ObjectStore

/// Records all changes of a store in a file as ``ChangeLines``, until it is stopped or the store closes.
///
/// Commits of this store are in the file when they return. Commits of other processes are written when the store
/// advances to them. Confined to the thread of the store.
package final class ChangeRecording {
    /// The file.
    package let path: String
    /// The number of steps that have been written.
    package private(set) var steps = 0
    private let log: LineLog
    private var lines = ChangeLines()
    private var token: NotificationToken?

    /// Begins a recording in a file.
    ///
    /// An earlier recording in the file is lost.
    ///
    /// Throws a `FormatError` if the system refuses access or the file holds something else, and the errors of
    /// `Store.observeChanges`.
    package init(of store: Store, to path: String) throws {
        self.path = path
        try store.check()
        log = try LineLog(path, replacing: ChangeLines.mark)
        try log.write(lines.header(store.view))
        token = try store.observeChanges(name: "the recording in \(path)") {
            [unowned self] change in
            try log.write(try lines.lines(for: change))
            steps += 1
        }
    }

    /// Whether the recording continues.
    package var isActive: Bool { token?.isValid == true }

    /// Ends the recording.
    ///
    /// Does nothing the second time.
    package func stop() {
        token?.invalidate()
        token = nil
        log.close()
    }
}
