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
    private var lines: ChangeLines
    private var token: NotificationToken?

    /// What a recording contains.
    package struct Options: Sendable {
        /// Begin with all objects of the store, so that a replay into an empty store makes a copy.
        package var beginsWithSnapshot = false
        /// Record also the values before a change.
        package var hasOldValues = true

        package init() {}
    }

    /// Begins a recording in a file.
    ///
    /// An earlier recording in the file is lost.
    ///
    /// Throws a `FormatError` if the system refuses access or the file holds something else, and the errors of
    /// `Store.observeChanges`.
    package init(of store: Store, to path: String, options: Options = Options()) throws {
        self.path = path
        lines = ChangeLines(oldValues: options.hasOldValues)
        try store.check()
        log = try LineLog(path, replacing: ChangeLines.mark)
        if options.beginsWithSnapshot {
            try lines.snapshot(store.view, log.write)
        } else {
            try log.write(lines.header(store.view))
        }
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
