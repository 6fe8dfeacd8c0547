/// The edits of the lists that a write has stored, by owner.
///
/// The edits of an owner without an entry are unknown. All edits become unknown if they take too much memory, as those of
/// very many short lists do.
struct RecordedEdits: ~Copyable {
    private(set) var byOwner = JournaledMap<Int64, CollectionEdits>()
    private var bytes = 0
    private var isDropped = false

    /// The size in bytes of an entry without its edits, in a table that has just grown.
    private static let entryBytes = 160

    /// Adds the edits of a list that is stored, unless all edits then take more than `limit` bytes.
    mutating func record(_ edits: CollectionEdits, of owner: Int64, limit: Int) {
        guard !edits.isEmpty, !isDropped else { return }
        byOwner[owner, default: CollectionEdits()].append(later: edits)
        bytes += Self.entryBytes + edits.edits.count * MemoryLayout<CollectionEdits.Edit>.stride
        if bytes > limit {
            self = RecordedEdits()
            isDropped = true
        }
    }

    /// Returns a mark of the present edits.
    mutating func mark() -> Int { byOwner.mark() }

    /// Reverts the edits after a mark.
    mutating func rollBack(to mark: Int) { if !isDropped { byOwner.rollBack(to: mark) } }

    /// Keeps the edits since the oldest mark.
    mutating func endMarks() { byOwner.endMarks() }

    /// Removes all edits after the write.
    mutating func removeAll() {
        if !byOwner.isEmpty || isDropped { self = RecordedEdits() }
    }
}
