/// The versions that observers have still to leave, in ascending order.
///
/// There is one for a store whose observers all keep pace, and a few where some of them are delayed, so that looking through
/// all of them costs less than any table.
struct PendingVersions {
    private struct Entry {
        let version: UInt64
        /// How many observers have still to leave it.
        var observers = 0
        /// The version as it was, once the store has left it.
        var view: StoreView?
        /// The way from it to the present one, while that is known.
        var step: VersionStep?
    }

    private var entries: [Entry] = []

    /// How many versions are kept, or will be when the store leaves them.
    var count: Int { entries.count }

    private func place(of version: UInt64) -> Int? {
        entries.firstIndex { $0.version == version }
    }

    /// The oldest version that can be read and is not older than the given one.
    func firstReadable(from version: UInt64) -> UInt64? {
        entries.first { $0.version >= version && $0.view != nil }?.version
    }

    /// The view of a version; nil if all observers have left it.
    func view(of version: UInt64) -> StoreView? { place(of: version).flatMap { entries[$0].view } }

    func step(from version: UInt64) -> VersionStep? {
        place(of: version).flatMap { entries[$0].step }
    }

    /// One more observer has still to leave a version.
    mutating func enter(_ version: UInt64) {
        if let place = place(of: version) {
            entries[place].observers += 1
        } else {
            let entry = Entry(version: version, observers: 1)
            guard let last = entries.last, last.version > version else {
                return entries.append(entry)
            }
            entries.insert(entry, at: entries.firstIndex { $0.version > version } ?? 0)
        }
    }

    /// An observer has left a version, which is forgotten with the last one.
    mutating func leave(_ version: UInt64) {
        guard let place = place(of: version) else { return }
        entries[place].observers -= 1
        guard entries[place].observers == 0 else { return }
        if place == entries.count - 1 { entries.removeLast() } else { entries.remove(at: place) }
    }

    /// Keeps a version that the store has left, if some observer has still to leave it.
    mutating func keep(_ view: StoreView) {
        if let place = place(of: view.version) { entries[place].view = view }
    }

    /// Remembers the way from a version to the present one.
    mutating func keep(_ step: VersionStep) {
        if let place = place(of: step.old.version) { entries[place].step = step }
    }

    /// Forgets all ways: the present version is another one.
    mutating func forgetSteps() {
        for place in entries.indices { entries[place].step = nil }
    }

    mutating func removeAll() { entries = [] }
}
