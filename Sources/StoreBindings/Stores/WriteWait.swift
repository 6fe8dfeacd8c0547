import ObjectStore

/// Notices that a write waits for another writer, from calls at short intervals during the wait.
package final class WriteWait {
    private let report: (Store) -> Void
    private var start = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private var isReported = false

    private static let patience = Duration.seconds(1)

    /// Creates a notice; `report` is called once for each wait that lasts longer than a second.
    package init(report: @escaping (Store) -> Void) { self.report = report }

    /// Records that a write still waits.
    package func note(_ store: Store, at now: ContinuousClock.Instant = .now) {
        // The calls of one wait follow each other fifty times a second.
        if last.map({ $0.duration(to: now) > Self.patience }) ?? true {
            start = now
            isReported = false
        }
        last = now
        guard !isReported, start.duration(to: now) >= Self.patience else { return }
        isReported = true
        report(store)
    }

    /// Returns the text about a wait for the writer of a store.
    package static func text(_ store: Store) -> String {
        "waiting for \(store.writerDescription), which is writing to \(store.title)"
    }
}
