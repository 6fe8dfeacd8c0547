import LMDBStorage

/// The LMDB table of all lists of one snapshot, the transaction to read it with, and whether the known addresses of its
/// pages are still valid.
///
/// Each snapshot has one such object, and calls ``move(to:)`` when it moves to another version.
package final class ListPages {
    let table: Table
    private let state: UnsafeMutablePointer<State>

    private struct State {
        var transaction: TransactionHandle?
        var generation: UInt64 = 1
    }

    /// Creates the pages of the table of list chunks, without a transaction to read them.
    package init(_ table: Table) {
        self.table = table
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Sets the transaction for reads, and invalidates all known addresses.
    ///
    /// Called when a snapshot begins, advances, and begins or ends a write; called with nil when the snapshot closes.
    package func move(to transaction: TransactionHandle?) {
        state.pointee.transaction = transaction
        state.pointee.generation &+= 1
    }

    /// Discards the addresses of chunks, after a write to the table.
    func invalidate() { state.pointee.generation &+= 1 }

    @inline(__always) var generation: UInt64 { state.pointee.generation }

    func transaction() throws(StorageError) -> TransactionHandle {
        guard let transaction = state.pointee.transaction else {
            throw StorageError(.closed, call: "reading a list", file: "")
        }
        return transaction
    }
}
