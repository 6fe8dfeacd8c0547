import LMDBStorage

/// The LMDB table that several indexes of one snapshot share, and whether the addresses of its pages are still valid.
///
/// There is one object for each snapshot and table of index blocks. Any write to the table may move the blocks of its
/// other indexes, so all directories are valid only for a generation number that every write increments.
final class IndexPages {
    let blocks: Table
    private let counter: UnsafeMutablePointer<UInt64>

    /// Creates the pages of a table for one snapshot.
    init(_ blocks: Table) {
        self.blocks = blocks
        counter = .allocate(capacity: 1)
        counter.initialize(to: 1)
    }

    deinit { counter.deallocate() }

    /// Invalidates the addresses of blocks in all indexes of the table.
    ///
    /// Takes constant time.
    ///
    /// Call it after the snapshot has moved to a version in which the table may differ, at the beginning and the end of
    /// a write, and after other writes to the table.
    func invalidate() { counter.pointee &+= 1 }

    @inline(__always) var generation: UInt64 { counter.pointee }
}
