import MemoryAccounts

/// The edits of the lists that a write has stored, by owner.
///
/// The edits of an owner without an entry are unknown. For a script with a memory limit, all edits become unknown if
/// they take more than a sixteenth of its memory: a write of many short lists would otherwise exceed the limit.
struct RecordedEdits: ~Copyable {
    private(set) var byOwner: [Int64: CollectionEdits] = [:]
    private var bytes = 0
    private var mostBytes = Int.max
    private var isDropped = false
    private var charge = MemoryCharge(nil)

    /// The size in bytes of an entry without its edits, in a table that has just grown.
    private static let entryBytes = 160

    /// Adds the edits of a list that is stored.
    mutating func record(_ edits: CollectionEdits, of owner: Int64) {
        guard !edits.isEmpty, !isDropped else { return }
        if byOwner.isEmpty, let account = MemoryAccount.current {
            charge = MemoryCharge(account)
            mostBytes = account.capacity / 16
        }
        byOwner[owner, default: CollectionEdits()].append(later: edits)
        bytes += Self.entryBytes + edits.edits.count * MemoryLayout<CollectionEdits.Edit>.stride
        if bytes > mostBytes {
            byOwner = [:]
            bytes = 0
            isDropped = true
        }
        charge.record(bytes)
    }

    /// Removes all edits after the write.
    mutating func removeAll() {
        if !byOwner.isEmpty || isDropped { self = RecordedEdits() }
    }
}
