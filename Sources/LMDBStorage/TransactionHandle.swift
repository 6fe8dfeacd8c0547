import CLMDB

/// A table of an environment: a map from key bytes to value bytes, opened with the file.
package struct Table: Hashable, Sendable {
    package let dbi: UInt32

    /// The table with the names of all other tables.
    ///
    /// Every commit that changes a table writes its page, so a small node next to the names costs no additional page.
    package static let names = Table(dbi: 1)
}

/// The size of a table.
package struct TableStatistics: Hashable, Sendable {
    /// The number of entries.
    package var entries: Int
    /// The number of pages of all kinds.
    package var pages: Int
    /// The height of the tree.
    package var depth: Int
}

/// A handle of a read or write transaction for table operations, consisting of two pointers.
///
/// The transaction must outlive its handle. Reads work on both kinds; changes on a read transaction fail with EACCES.
/// The result of a read is valid until the transaction ends or, in a write transaction, until its next change.
package struct TransactionHandle {
    package let pointer: OpaquePointer
    let environment: Unmanaged<Environment>

    /// The name of the file for error messages.
    package var file: String { environment._withUnsafeGuaranteedRef { $0.name } }

    /// The version that is read, or that a write will create.
    package var version: UInt64 { FileVersion.of(pointer) }

    /// Returns the value of an integer key.
    @inline(__always)
    package func get(_ table: Table, _ key: UInt64) throws(StorageError) -> UnsafeRawBufferPointer?
    {
        var key = key
        if needsAdmission {
            try withUnsafeBytes(of: &key) { key throws(StorageError) in try admit(table, key) }
        }
        var value = MDB_val()
        let code = withUnsafeMutablePointer(to: &key) { pointer in
            var wrapped = MDB_val(mv_size: 8, mv_data: pointer)
            return mdb_get(self.pointer, table.dbi, &wrapped, &value)
        }
        return try found(code, value: value, in: table, key: key)
    }

    /// Returns the value of a key of bytes.
    package func get(
        _ table: Table, _ key: UnsafeRawBufferPointer
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        if needsAdmission { try admit(table, key) }
        var wrapped = MDB_val(key)
        var value = MDB_val()
        return try found(
            mdb_get(pointer, table.dbi, &wrapped, &value), value: value, in: table,
            key: ValueSeal.hash(key: key))
    }

    @inline(__always)
    private func found(
        _ code: Int32, value: MDB_val, in table: Table, key: UInt64
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        if code == 0 {
            let stored = UnsafeRawBufferPointer(value)
            if let value = environment._withUnsafeGuaranteedRef({
                $0.seals.value(of: stored, key, table.dbi)
            }) {
                return value
            }
            throw environment._withUnsafeGuaranteedRef { $0.damage(table.dbi) }
        }
        if code == MDB_NOTFOUND { return nil }
        throw environment._withUnsafeGuaranteedRef { $0.failure(code, "mdb_get") }
    }

    /// Returns the stored bytes of a value without verification, for a file that may have another format.
    package func stored(
        _ table: Table, _ key: UnsafeRawBufferPointer
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        if needsAdmission { try admit(table, key) }
        var wrapped = MDB_val(key)
        var value = MDB_val()
        let code = mdb_get(pointer, table.dbi, &wrapped, &value)
        if code == MDB_NOTFOUND { return nil }
        try check(code, "mdb_get", environment)
        return UnsafeRawBufferPointer(value)
    }

    /// Writes a value and its checksum into the space that LMDB has reserved for both.
    @inline(__always)
    private func fill(
        _ space: MDB_val, with value: UnsafeRawBufferPointer, in table: Table, key: UInt64
    ) -> UnsafeRawBufferPointer {
        let stored = UnsafeMutableRawBufferPointer(start: space.mv_data, count: space.mv_size)
        stored.copyMemory(from: value)
        environment._withUnsafeGuaranteedRef { $0.seals.write(to: stored, key, table.dbi) }
        return UnsafeRawBufferPointer(stored)
    }

    /// Whether some pages of the file were not verified when it was opened.
    @inline(__always)
    private var needsAdmission: Bool {
        environment._withUnsafeGuaranteedRef { !$0.pages.isComplete }
    }

    /// Verifies that LMDB can safely search a key.
    private func admit(
        _ table: Table, _ key: UnsafeRawBufferPointer
    ) throws(StorageError) {
        try environment.takeUnretainedValue().pages.admit(table.dbi, .key(key), in: pointer)
    }

    /// Verifies that LMDB can replace or remove the value of a key.
    @inline(__always)
    private func admitChange(
        _ table: Table, _ key: MDB_val, isRemoval: Bool = false
    ) throws(StorageError) {
        guard needsAdmission else { return }
        try environment.takeUnretainedValue().pages.admitChange(
            pointer, table.dbi, key, isRemoval: isRemoval)
    }

    /// Prepares a change that puts some bytes, or that removes an entry for 0 bytes.
    @inline(__always)
    private func prepareChange(of bytes: Int, isNew: Bool = true) throws(StorageError) {
        let code = environment._withUnsafeGuaranteedRef {
            $0.prepareChange(of: bytes, isNew: isNew, in: pointer)
        }
        try check(code, "fallocate", environment)
    }

    @inline(__always)
    private func admitChange(
        _ table: Table, _ key: UInt64, isRemoval: Bool = false
    ) throws(StorageError) {
        guard needsAdmission else { return }
        var key = key
        try withUnsafeMutablePointer(to: &key) { key throws(StorageError) in
            try admitChange(table, MDB_val(mv_size: 8, mv_data: key), isRemoval: isRemoval)
        }
    }

    /// Records the present value of a key for the savepoints of the write.
    @inline(__always)
    private func keep(_ table: Table, _ key: MDB_val) throws(StorageError) {
        guard environment._withUnsafeGuaranteedRef({ $0.undo.isRecording }) else { return }
        let code = environment.takeUnretainedValue().undo.record(key, table.dbi, pointer)
        try check(code, "mdb_get", environment)
    }

    @inline(__always)
    private func keep(_ table: Table, _ key: UInt64) throws(StorageError) {
        guard environment._withUnsafeGuaranteedRef({ $0.undo.isRecording }) else { return }
        var key = key
        try withUnsafeMutablePointer(to: &key) { key throws(StorageError) in
            try keep(table, MDB_val(mv_size: 8, mv_data: key))
        }
    }

    /// Records a change for the redo log, if there is one.
    @inline(__always)
    private func record(_ change: (ChangeRecorder) -> Void) {
        environment._withUnsafeGuaranteedRef { if $0.changes.isRecording { change($0.changes) } }
    }

    /// Stores a value under an integer key; `append` must be true only if the key is the greatest.
    package func put(
        _ table: Table, _ key: UInt64, _ value: UnsafeRawBufferPointer, append: Bool = false
    ) throws(StorageError) {
        try admitChange(table, key)
        try prepareChange(of: 8 + value.count + ValueSeal.size, isNew: append)
        try keep(table, key)
        var key = key
        var space = MDB_val(mv_size: value.count + ValueSeal.size, mv_data: nil)
        let code = withUnsafeMutablePointer(to: &key) { pointer in
            var wrappedKey = MDB_val(mv_size: 8, mv_data: pointer)
            return mdb_put(
                self.pointer, table.dbi, &wrappedKey, &space,
                UInt32(MDB_RESERVE | (append ? MDB_APPEND : 0)))
        }
        try check(code, "mdb_put", environment)
        let stored = fill(space, with: value, in: table, key: key)
        record { recorder in
            withUnsafeBytes(of: key) { recorder.put(table.dbi, $0, stored) }
        }
    }

    /// Stores a value under a key of bytes; `append` must be true only if the key is the greatest.
    package func put(
        _ table: Table, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        append: Bool = false
    ) throws(StorageError) {
        var wrappedKey = MDB_val(key)
        try admitChange(table, wrappedKey)
        try prepareChange(of: key.count + value.count + ValueSeal.size, isNew: append)
        try keep(table, wrappedKey)
        var space = MDB_val(mv_size: value.count + ValueSeal.size, mv_data: nil)
        let flags = UInt32(MDB_RESERVE | (append ? MDB_APPEND : 0))
        try check(
            mdb_put(pointer, table.dbi, &wrappedKey, &space, flags), "mdb_put", environment)
        let stored = fill(space, with: value, in: table, key: ValueSeal.hash(key: key))
        record { $0.put(table.dbi, key, stored) }
    }

    /// Reserves space for a value under an integer key; the caller fills it before the next call.
    package func reserve(
        _ table: Table, _ key: UInt64, count: Int, append: Bool = false
    ) throws(StorageError) -> UnsafeMutableRawBufferPointer {
        try admitChange(table, key)
        try prepareChange(of: 8 + count + ValueSeal.size, isNew: append)
        try keep(table, key)
        var key = key
        var wrappedValue = MDB_val(mv_size: count + ValueSeal.size, mv_data: nil)
        let code = withUnsafeMutablePointer(to: &key) { pointer in
            var wrappedKey = MDB_val(mv_size: 8, mv_data: pointer)
            return mdb_put(
                self.pointer, table.dbi, &wrappedKey, &wrappedValue,
                UInt32(MDB_RESERVE | (append ? MDB_APPEND : 0)))
        }
        try check(code, "mdb_put", environment)
        let space = UnsafeMutableRawBufferPointer(
            start: wrappedValue.mv_data, count: count + ValueSeal.size)
        environment._withUnsafeGuaranteedRef { $0.seals.lend(space, key, table.dbi) }
        record { recorder in
            withUnsafeBytes(of: key) { recorder.lend(table.dbi, $0, UnsafeRawBufferPointer(space)) }
        }
        return UnsafeMutableRawBufferPointer(rebasing: space[..<count])
    }

    /// Removes an integer key.
    ///
    /// Returns false if the key did not exist.
    @discardableResult  // because: most callers only need the key to be absent
    package func delete(_ table: Table, _ key: UInt64) throws(StorageError) -> Bool {
        try admitChange(table, key, isRemoval: true)
        try prepareChange(of: 0)
        try keep(table, key)
        var key = key
        let code = withUnsafeMutablePointer(to: &key) { pointer in
            var wrapped = MDB_val(mv_size: 8, mv_data: pointer)
            return mdb_del(self.pointer, table.dbi, &wrapped, nil)
        }
        guard try removed(code) else { return false }
        record { recorder in withUnsafeBytes(of: key) { recorder.delete(table.dbi, $0) } }
        return true
    }

    /// Removes a key of bytes.
    ///
    /// Returns false if the key did not exist.
    @discardableResult  // because: most callers only need the key to be absent
    package func delete(
        _ table: Table, _ key: UnsafeRawBufferPointer
    ) throws(StorageError) -> Bool {
        var wrapped = MDB_val(key)
        try admitChange(table, wrapped, isRemoval: true)
        try prepareChange(of: 0)
        try keep(table, wrapped)
        guard try removed(mdb_del(pointer, table.dbi, &wrapped, nil)) else { return false }
        record { $0.delete(table.dbi, key) }
        return true
    }

    private func removed(_ code: Int32) throws(StorageError) -> Bool {
        if code == MDB_NOTFOUND { return false }
        try check(code, "mdb_del", environment)
        return true
    }

    /// Returns the size of a table.
    package func statistics(_ table: Table) throws(StorageError) -> TableStatistics {
        var stat = MDB_stat()
        try check(mdb_stat(pointer, table.dbi, &stat), "mdb_stat", environment)
        return TableStatistics(
            entries: Int(stat.ms_entries),
            pages: Int(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages),
            depth: Int(stat.ms_depth))
    }

    /// Opens a cursor.
    ///
    /// The cursor must go out of scope before the transaction ends.
    package func cursor(_ table: Table) throws(StorageError) -> Cursor {
        var opened: OpaquePointer?
        try check(mdb_cursor_open(pointer, table.dbi, &opened), "mdb_cursor_open", environment)
        // because: mdb_cursor_open succeeded.
        return Cursor(opened!, environment, table.dbi)
    }
}

extension MDB_val {
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    init(_ value: MDB_val) {
        self.init(start: value.mv_data, count: value.mv_size)
    }
}
