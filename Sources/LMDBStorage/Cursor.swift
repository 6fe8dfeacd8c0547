import CLMDB

/// A key and a value at a cursor's position, valid as long as the result of a read.
package struct Entry {
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    /// The key of a table with integer keys.
    @inline(__always)
    package var integerKey: UInt64 {
        key.count == 8 ? key.loadUnaligned(as: UInt64.self) : 0
    }
}

/// A position in a table.
///
/// A cursor is closed when it goes out of scope, which must be before its transaction ends: a commit frees the open
/// cursors of a write, and closing one later would free it twice.
package struct Cursor: ~Copyable {
    private let pointer: OpaquePointer
    private let environment: Unmanaged<Environment>
    /// LMDB's number of the table; the list of free pages and the tree of table names have no checksums.
    private let table: UInt32

    init(_ pointer: OpaquePointer, _ environment: Unmanaged<Environment>, _ table: UInt32) {
        self.pointer = pointer
        self.environment = environment
        self.table = table
    }

    /// Returns the entry without the value's checksum, after verifying the checksum.
    @inline(__always)
    private func entry(_ key: MDB_val, _ value: MDB_val) throws(StorageError) -> Entry {
        let key = UnsafeRawBufferPointer(key)
        let stored = UnsafeRawBufferPointer(value)
        if table <= Table.names.dbi { return Entry(key: key, value: stored) }
        let value = environment._withUnsafeGuaranteedRef {
            $0.seals.value(of: stored, ValueSeal.hash(key: key), table)
        }
        guard let value else {
            throw environment._withUnsafeGuaranteedRef { $0.damage(table) }
        }
        return Entry(key: key, value: value)
    }

    deinit { mdb_cursor_close(pointer) }

    @inline(__always)
    private func move(
        _ operation: MDB_cursor_op, _ key: MDB_val = MDB_val()
    ) throws(StorageError) -> Entry? {
        var key = key
        var value = MDB_val()
        let code = mdb_cursor_get(pointer, &key, &value, operation)
        if code == 0 { return try entry(key, value) }
        if code == MDB_NOTFOUND { return nil }
        throw environment._withUnsafeGuaranteedRef { $0.failure(code, "mdb_cursor_get") }
    }

    @inline(__always)
    private func move(
        _ operation: MDB_cursor_op, integer key: UInt64
    ) throws(StorageError) -> Entry? {
        // The C code reads the key before it returns, and returns its own address if it finds the key. MDB_SET does not
        // replace the caller's address, so the entry is then read with MDB_GET_CURRENT.
        var key = key
        var value = MDB_val()
        var wrapped = MDB_val()
        let code = withUnsafeMutablePointer(to: &key) { pointer in
            wrapped = MDB_val(mv_size: 8, mv_data: pointer)
            return mdb_cursor_get(self.pointer, &wrapped, &value, operation)
        }
        if code == 0 { return try entry(wrapped, value) }
        if code == MDB_NOTFOUND { return nil }
        throw environment._withUnsafeGuaranteedRef { $0.failure(code, "mdb_cursor_get") }
    }

    /// Moves to exactly this key; nil if it does not exist.
    package func set(_ key: UnsafeRawBufferPointer) throws(StorageError) -> Entry? {
        try admit(.key(key))
        return try move(MDB_SET_KEY, MDB_val(key))
    }

    /// Moves to exactly this integer key; nil if it does not exist.
    package func set(_ key: UInt64) throws(StorageError) -> Entry? {
        try admit(key)
        return try move(MDB_SET_KEY, integer: key)
    }

    /// Moves to the first key that is at least this one.
    package func setRange(_ key: UnsafeRawBufferPointer) throws(StorageError) -> Entry? {
        try admit(.key(key))
        return try move(MDB_SET_RANGE, MDB_val(key))
    }

    /// Moves to the first integer key that is at least this one.
    package func setRange(_ key: UInt64) throws(StorageError) -> Entry? {
        try admit(key)
        return try move(MDB_SET_RANGE, integer: key)
    }

    /// Moves from the result of `setRange` to the last key that is less than the one it searched for.
    ///
    /// The cursor must not have moved since then.
    package func before(_ found: Entry?) throws(StorageError) -> Entry? {
        // The search has verified the neighboring pages.
        try move(found == nil ? MDB_LAST : MDB_PREV)
    }

    /// Moves to the first entry.
    package func first() throws(StorageError) -> Entry? {
        try admit(.first)
        return try move(MDB_FIRST)
    }

    /// Moves to the last entry.
    package func last() throws(StorageError) -> Entry? {
        try admit(.last)
        return try move(MDB_LAST)
    }

    /// Moves to the next entry; nil at the end.
    package func next() throws(StorageError) -> Entry? {
        try admitStep()
        return try move(MDB_NEXT)
    }

    /// Moves to the previous entry; nil at the beginning.
    package func previous() throws(StorageError) -> Entry? {
        try admitStep()
        return try move(MDB_PREV)
    }

    /// Returns the entry at the position.
    package func current() throws(StorageError) -> Entry? { try move(MDB_GET_CURRENT) }

    /// Prepares a change that puts some bytes, or that removes an entry for 0 bytes.
    @inline(__always)
    private func prepareChange(of bytes: Int, isNew: Bool = true) throws(StorageError) {
        let code = environment._withUnsafeGuaranteedRef {
            $0.prepareChange(of: bytes, isNew: isNew, in: mdb_cursor_txn(pointer))
        }
        try check(code, "fallocate", environment)
    }

    /// Whether some pages of the file were not verified when it was opened.
    @inline(__always)
    private var needsAdmission: Bool {
        environment._withUnsafeGuaranteedRef { !$0.pages.isComplete }
    }

    /// Verifies that LMDB can safely move to a position.
    @inline(__always)
    private func admit(_ target: PageWalk.Position) throws(StorageError) {
        guard needsAdmission else { return }
        try environment.takeUnretainedValue().pages.admit(
            table, target, in: mdb_cursor_txn(pointer))
    }

    @inline(__always)
    private func admit(_ key: UInt64) throws(StorageError) {
        guard needsAdmission else { return }
        try withUnsafeBytes(of: key) { key throws(StorageError) in try admit(.key(key)) }
    }

    /// Verifies that LMDB can safely move to the next or previous entry.
    @inline(__always)
    private func admitStep() throws(StorageError) {
        if needsAdmission { try admitStepOnce() }
    }

    @inline(never)
    private func admitStepOnce() throws(StorageError) {
        let pages = environment.takeUnretainedValue().pages
        // Reading the entry would make LMDB skip the one after a removed entry. A removal has verified all pages.
        guard !pages.isVerified(table) else { return }
        var key = MDB_val()
        var value = MDB_val()
        guard mdb_cursor_get(pointer, &key, &value, MDB_GET_CURRENT) == 0 else {
            return try admitAll()
        }
        try pages.admit(
            table, .key(UnsafeRawBufferPointer(key)), isStep: true,
            in: mdb_cursor_txn(pointer))
    }

    /// Verifies that LMDB can safely move to any position.
    @inline(__always)
    private func admitAll() throws(StorageError) {
        if needsAdmission { try environment.takeUnretainedValue().pages.admit(table) }
    }

    /// Records the present value of a key for the savepoints of the write.
    @inline(__always)
    private func keep(_ key: MDB_val) throws(StorageError) {
        guard environment._withUnsafeGuaranteedRef({ $0.undo.isRecording }) else { return }
        let code = environment.takeUnretainedValue().undo.record(
            key, table, mdb_cursor_txn(pointer))
        try check(code, "mdb_get", environment)
    }

    /// Records a change for the redo log, if there is one.
    @inline(__always)
    private func record(_ change: (ChangeRecorder) -> Void) {
        environment._withUnsafeGuaranteedRef { if $0.changes.isRecording { change($0.changes) } }
    }

    /// Verifies that LMDB can remove the entry at the position.
    @inline(__always)
    private func admitRemoval() throws(StorageError) {
        guard needsAdmission else { return }
        try admitAll()
        var key = MDB_val()
        var value = MDB_val()
        guard mdb_cursor_get(pointer, &key, &value, MDB_GET_CURRENT) == 0 else { return }
        try environment.takeUnretainedValue().pages.requireHead(of: value, keySize: key.mv_size)
    }

    /// Removes the entry at the position; the cursor is then at the next entry (``current()``).
    package func delete() throws(StorageError) {
        try admitRemoval()
        try prepareChange(of: 0)
        var key = MDB_val()
        var value = MDB_val()
        if mdb_cursor_get(pointer, &key, &value, MDB_GET_CURRENT) == 0 {
            try keep(key)
            record { $0.delete(table, UnsafeRawBufferPointer(key)) }
        } else {
            record { $0.abandon() }
        }
        try check(mdb_cursor_del(pointer, 0), "mdb_cursor_del", environment)
    }
}
