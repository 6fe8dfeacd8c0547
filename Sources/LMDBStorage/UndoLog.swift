import CLMDB
import MemoryAccounts

/// The entries that an open write has replaced or removed since its oldest savepoint, in the order of the changes.
///
/// Only the thread that holds the write lock may use it. Without a savepoint, a change costs one comparison.
final class UndoLog: @unchecked Sendable {
    // Unchecked because: only the holder of the write lock uses it.

    /// An entry as it was before a change; its key and its value follow each other in `bytes`.
    private struct Entry {
        let table: UInt32
        let start: Int
        let keySize: Int
        /// The size of the value with its checksum; nil if the key had no value.
        let valueSize: Int?
    }

    /// Whether the write has a savepoint.
    @exclusivity(unchecked) fileprivate(set) var isRecording = false
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var bytes: [UInt8] = []

    /// The number of recorded entries.
    var count: Int { entries.count }

    /// Drops all entries at the end of the write or of its oldest savepoint.
    func end() {
        assert(isRecording || entries.isEmpty, "entries are recorded only for savepoints")
        guard isRecording else { return }
        isRecording = false
        entries = []
        bytes = []
    }

    /// Records the value of a key, which is about to change.
    ///
    /// Returns the code of the error, or 0.
    @inline(never)
    func record(_ key: MDB_val, _ table: UInt32, _ transaction: OpaquePointer) -> Int32 {
        assert(isRecording, "entries are recorded only for savepoints")
        var key = key
        var value = MDB_val()
        let code = mdb_get(transaction, table, &key, &value)
        guard code == 0 || code == MDB_NOTFOUND else { return code }
        do throws(MemoryLimitReached) {
            try entries.requireSpaceToGrow()
            try bytes.requireSpaceToGrow()
        } catch { return StorageError.memoryLimitCode }
        // LMDB reads integer keys as words.
        while bytes.count % 8 != 0 { bytes.append(0) }
        entries.append(
            Entry(
                table: table, start: bytes.count, keySize: key.mv_size,
                valueSize: code == 0 ? value.mv_size : nil))
        bytes.append(contentsOf: UnsafeRawBufferPointer(key))
        if code == 0 { bytes.append(contentsOf: UnsafeRawBufferPointer(value)) }
        return 0
    }

    /// Removes the newest entry, and passes it to `body`; a nil value means that the key had none.
    func takeLast(
        _ body: (Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?)
            throws(StorageError) -> Void
    ) throws(StorageError) {
        let entry = entries.removeLast()
        let failure = bytes.withUnsafeBytes { all -> StorageError? in
            let valueStart = entry.start + entry.keySize
            assert(
                all.count - valueStart - (entry.valueSize ?? 0) < 8,
                "the newest entry has the last bytes")
            let key = UnsafeRawBufferPointer(rebasing: all[entry.start..<valueStart])
            let value = entry.valueSize.map {
                UnsafeRawBufferPointer(rebasing: all[valueStart..<valueStart + $0])
            }
            do throws(StorageError) {
                try body(Table(dbi: entry.table), key, value)
                return nil
            } catch { return error }
        }
        bytes.removeLast(bytes.count - entry.start)
        if let failure { throw failure }
    }
}

extension TransactionHandle {
    /// Returns a mark to which the tables can be rolled back, and records the entries that further changes replace.
    package func mark() -> Int {
        environment._withUnsafeGuaranteedRef {
            $0.undo.isRecording = true
            return $0.undo.count
        }
    }

    /// Restores the entries of all tables at a mark; takes time in proportion to the changes after it.
    ///
    /// The mark remains valid. After an error, the write can only be rolled back.
    package func rollBack(to mark: Int) throws(StorageError) {
        let undo = environment.takeUnretainedValue().undo
        precondition(undo.isRecording, "the savepoint has ended")
        undo.isRecording = false
        defer { undo.isRecording = true }
        while undo.count > mark {
            try undo.takeLast { table, key, value throws(StorageError) in
                if let value {
                    // The checksum is written again with the value.
                    let plain = UnsafeRawBufferPointer(rebasing: value.dropLast(ValueSeal.size))
                    try put(table, key, plain)
                } else {
                    try delete(table, key)
                }
            }
        }
    }

    /// Stops recording when the oldest savepoint has ended.
    package func endMarks() { environment._withUnsafeGuaranteedRef { $0.undo.end() } }
}
