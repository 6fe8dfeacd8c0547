import SystemCalls

/// The versions that observers still need, in ascending order.
///
/// If no observer is delayed, there is only one version; otherwise there are a few. A linear search therefore costs
/// less than a hash table.
struct PendingVersions {
    private struct Entry {
        let version: UInt64
        /// The number of observers that still need the version.
        var observers = 0
        /// The view of the version; nil until the store has left it.
        var view: StoreView?
        /// The step from the version to the current one, once it was computed.
        var step: VersionStep?
    }

    private var entries: [Entry] = []

    /// The number of versions that are kept, or will be kept when the store leaves them.
    var count: Int { entries.count }

    private func index(of version: UInt64) -> Int? {
        entries.firstIndex { $0.version == version }
    }

    /// Returns the oldest readable version that is not older than the given one.
    func firstReadable(from version: UInt64) -> UInt64? {
        entries.first { $0.version >= version && $0.view != nil }?.version
    }

    /// Returns the view of a version; nil if no observer needs the version.
    func view(of version: UInt64) -> StoreView? { index(of: version).flatMap { entries[$0].view } }

    func step(from version: UInt64) -> VersionStep? {
        index(of: version).flatMap { entries[$0].step }
    }

    /// Adds an observer that needs a version.
    mutating func enter(_ version: UInt64) {
        if let index = index(of: version) {
            entries[index].observers += 1
        } else {
            let entry = Entry(version: version, observers: 1)
            guard let last = entries.last, last.version > version else {
                return entries.append(entry)
            }
            entries.insert(entry, at: entries.firstIndex { $0.version > version } ?? 0)
        }
    }

    /// Removes an observer from a version, and removes the version with its last observer.
    mutating func leave(_ version: UInt64) {
        guard let index = index(of: version) else { return }
        entries[index].observers -= 1
        guard entries[index].observers == 0 else { return }
        if index == entries.count - 1 { entries.removeLast() } else { entries.remove(at: index) }
    }

    /// Keeps a version that the store has left, if an observer needs it.
    mutating func keep(_ view: StoreView) {
        if let index = index(of: view.version) { entries[index].view = view }
    }

    /// Keeps the step from a version to the current one.
    mutating func keep(_ step: VersionStep) {
        if let index = index(of: step.old.version) { entries[index].step = step }
    }

    /// Removes all steps, because the current version has changed.
    mutating func forgetSteps() {
        for index in entries.indices { entries[index].step = nil }
    }

    mutating func removeAll() { entries = [] }
}

/// Measures elapsed time.
struct Stopwatch {
    private let start = MonotonicClock.nanoseconds

    /// The microseconds since the stopwatch was created.
    var microseconds: Double { Double(MonotonicClock.nanoseconds - start) / 1000 }
}
