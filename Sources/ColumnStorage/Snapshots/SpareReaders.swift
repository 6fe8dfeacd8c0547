/// The table readers of a version that was released, for reuse by the next version that is released.
///
/// A live snapshot leaves its version whenever it moves to another one. Observers read a few values of the old version
/// before it is released, and creating its readers each time would cost more than the reads. Between versions the
/// readers keep no pages. The object belongs to the thread of the snapshots.
final class SpareReaders {
    private var source: SnapshotSource?
    private var hasEnded = false
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()

    /// Removes and returns the kept readers, which are closed and share the source.
    func take() -> (source: SnapshotSource, tables: SortedMap<TableID, TableReader>)? {
        guard let kept = source else { return nil }
        defer {
            source = nil
            tables = SortedMap()
        }
        return (kept, tables)
    }

    /// Keeps closed readers, unless another owner uses one of them, which must remain closed.
    func keep(_ source: SnapshotSource, _ readers: inout SortedMap<TableID, TableReader>) {
        if hasEnded { return }
        for index in readers.elements.indices
        where !isKnownUniquelyReferenced(&readers.elements[index].value) {
            return
        }
        self.source = source
        tables = readers
    }

    /// Releases the readers permanently, because a source keeps its file open.
    func end() {
        hasEnded = true
        source = nil
        tables = SortedMap()
    }
}
