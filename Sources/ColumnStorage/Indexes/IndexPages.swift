import LMDBStorage

/// The LMDB table that some indexes of one snapshot share, and whether what they know about its
/// pages still holds.
///
/// One for each snapshot and table of index blocks. Any write to the table may move the blocks of
/// its other indexes, so all directories are tied to a number that every write raises.
package final class IndexPages {
    let blocks: Table
    private let counter: UnsafeMutablePointer<UInt64>

    /// The pages of a table as one snapshot sees them.
    package init(_ blocks: Table) {
        self.blocks = blocks
        counter = .allocate(capacity: 1)
        counter.initialize(to: 1)
    }

    deinit { counter.deallocate() }

    /// Forgets the addresses of blocks, in all indexes of the table.
    ///
    /// Constant time.
    ///
    /// Call it when the snapshot has moved to a version in which the table may differ, at the begin
    /// and the end of a write, and after writing to the table by other means.
    package func invalidate() { counter.pointee &+= 1 }

    @inline(__always) var generation: UInt64 { counter.pointee }
}
