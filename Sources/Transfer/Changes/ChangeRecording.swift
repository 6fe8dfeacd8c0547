import DataFormats
import ObjectStore

/// Writes everything that happens in a store to a file, as ``ChangeLines`` words it, until it is stopped or the store closes.
///
/// Commits of the store are in the file when they return; those of others when the store moves on. Confined to the thread of
/// the store.
package final class ChangeRecording {
    /// The file.
    package let path: String
    /// How many steps have been written.
    package private(set) var steps = 0
    private let log: LineLog
    private var lines = ChangeLines()
    private var token: NotificationToken?

    /// Begins a recording in a file; an earlier recording in it is lost.
    ///
    /// Throws a `FormatError` for what the system refuses and for a file that holds something else, and what
    /// `Store.observeChanges` throws.
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

    /// Whether what happens is still written.
    package var isActive: Bool { token?.isValid == true }

    /// Ends the recording; again does nothing.
    package func stop() {
        token?.invalidate()
        token = nil
        log.close()
    }
}
