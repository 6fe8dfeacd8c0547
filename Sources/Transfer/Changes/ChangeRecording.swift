import DataFormats
import ObjectStore

/// Records all changes of a store in a file as ``ChangeLines``, until it is stopped or the store closes.
///
/// When a commit of this store returns, the file contains it. Commits of other processes are written when the store
/// advances to them. Confined to the thread of the store.
package final class ChangeRecording {
    /// The path of the file.
    package let path: String
    /// The number of steps that have been written.
    package private(set) var steps = 0
    private let log: LineLog
    private var lines: ChangeLines
    private var token: NotificationToken?

    /// The options of a recording.
    package struct Options: Sendable {
        /// Whether to begin with all objects of the store, so that a replay into an empty store creates a copy.
        package var beginsWithSnapshot = false
        /// Whether to record the values before a change too.
        package var hasOldValues = true

        package init() {}
    }

    /// Starts a recording in a file.
    ///
    /// Overwrites an earlier recording in the file. Throws a `FormatError` if the file cannot be opened or has other
    /// content, and the errors of `Store.observeChanges`.
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
            try lines.write(change, log.write)
            steps += 1
        }
    }

    /// Whether the recording is active.
    package var isActive: Bool { token?.isValid == true }

    /// Stops the recording.
    ///
    /// Idempotent.
    package func stop() {
        token?.invalidate()
        token = nil
        log.close()
    }
}
