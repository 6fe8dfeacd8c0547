/// The table readers of a version that was left and let go, for the next one that is left.
///
/// A live snapshot leaves a version with every step. Observers read a few values of it, and it goes;
/// making its readers anew each time would cost more than what is read. Between versions they hold
/// none. Belongs to the thread of the snapshots.
final class SpareReaders {
    private var source: SnapshotSource?
    private var hasEnded = false
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()

    /// Hands over what is kept; the readers are closed and share the source.
    func take() -> (source: SnapshotSource, tables: SortedMap<TableID, TableReader>)? {
        guard let kept = source else { return nil }
        defer {
            source = nil
            tables = SortedMap()
        }
        return (kept, tables)
    }

    /// Keeps closed readers, unless somebody else has one: to them it is to stay closed.
    func keep(_ source: SnapshotSource, _ readers: inout SortedMap<TableID, TableReader>) {
        if hasEnded { return }
        for place in readers.elements.indices
        where !isKnownUniquelyReferenced(&readers.elements[place].value) {
            return
        }
        self.source = source
        tables = readers
    }

    /// Lets everything go for ever: a source keeps its file.
    func end() {
        hasEnded = true
        source = nil
        tables = SortedMap()
    }
}
