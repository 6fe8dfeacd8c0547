import LMDBStorage
import MemoryAccounts

/// An index from values to rows, in the order of the values.
///
/// It is a multiset: an entry may occur several times. The stored entries are in ``IndexLevels``. In a write, the index
/// keeps the changes that are not stored yet in memory, all reads include them, and they are merged into the stored
/// entries once.
///
/// * The object is not thread-safe; it belongs to its snapshot.
/// * ``IndexPages/invalidate()`` must be called if the passed transaction reads another version.
/// * Call ``flush(in:)`` before the commit, or ``cancel()``; ``insert(_:_:in:)`` merges changes early to limit memory.
/// * Every call throws `damaged` for invalid stored bytes, and the errors of LMDB.
final class SortedIndex<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>

    private let stored: IndexLevels<Value>
    /// The memory from which pending changes may be merged early.
    private let pendingLimit: Int
    /// The changes of the write that are not stored yet, in separate memory because they are large.
    @exclusivity(unchecked) private var delta: UnsafeMutablePointer<IndexDelta<Value>>?
    /// The stored values, as long as a write knows all of them.
    @exclusivity(unchecked) private var filter: ValueFilter<Value>?

    /// Creates an index of a column.
    init(table: TableID, column: ColumnID, tables: IndexTables, pendingLimit: Int? = nil) {
        stored = IndexLevels(table: table, column: column, tables: tables)
        self.pendingLimit = pendingLimit ?? Value.pendingLimits.minimum
    }

    deinit {
        dropDelta()
        filter?.deallocate()
    }

    /// Whether there are changes that are not stored yet.
    var hasChanges: Bool {
        guard let delta else { return false }
        return !delta.pointee.isEmpty
    }

    // MARK: Reading

    /// Returns whether the index is known to be empty: without stored entries and without pending changes.
    func isEmpty(in transaction: TransactionHandle) throws(StorageError) -> Bool {
        if hasChanges { return false }
        return try stored.isEmpty(in: transaction)
    }

    /// Returns the first row with a value; in a unique index, the only one.
    @inline(__always)
    func find(
        _ value: Value, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if let delta, !delta.pointee.isEmpty { return try findInWrite(value, delta, transaction) }
        return try findStored(value, transaction)
    }

    private func findInWrite(
        _ value: Value, _ delta: UnsafeMutablePointer<IndexDelta<Value>>,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if delta.pointee.hasRecord(of: value) {
            return try keys(equalTo: value, atMost: 0, in: transaction).first
        }
        let tail = delta.pointee.tail
        if let last = tail.last, last.value.compare(value) < 0 { return nil }
        let index = delta.pointee.tailIndex(atOrAfter: value)
        // A value less than the first one of the tail can exist only in the stored blocks; a value equal to it can
        // exist in both.
        if index == 0, let stored = try findStored(value, transaction) { return stored }
        guard index < tail.count, tail[index].value.compare(value) == 0 else { return nil }
        return ObjectKey(tail[index].key)
    }

    private func findStored(
        _ value: Value, _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if let filter, !filter.mayContain(value) { return nil }
        return try stored.find(value, in: transaction)
    }

    /// Returns all rows with a value, ascending and with the duplicates in the index; above `maximum`, it may stop.
    func keys(
        equalTo value: Value, atMost maximum: Int = .max, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        guard let delta, !delta.pointee.isEmpty else {
            return try stored.keys(equalTo: value, atMost: maximum, in: transaction)
        }
        let changes =
            delta.pointee.hasRecord(of: value)
            ? delta.pointee.changeSums().changes(of: value) : []
        let removed = changes.reduce(0) { $0 - Swift.min(0, Int($1.change)) }
        var result = try stored.keys(
            equalTo: value, atMost: maximum.saturatingAdd(removed), in: transaction)
        let tail = delta.pointee.tail
        var index = delta.pointee.tailIndex(atOrAfter: value)
        while index < tail.count, tail[index].value.compare(value) == 0 {
            result.append(ObjectKey(tail[index].key))
            index += 1
        }
        return changes.isEmpty ? result : Self.keys(result, with: changes)
    }

    /// Returns keys with changes of their numbers; both are ascending.
    private static func keys(
        _ keys: [ObjectKey], with changes: [IndexChange<Value>]
    ) -> [ObjectKey] {
        var result: [ObjectKey] = []
        result.reserveCapacity(keys.count + changes.count)
        var next = 0
        for change in changes {
            let key = change.entry.key
            while next < keys.count, keys[next].rawValue < key {
                result.append(keys[next])
                next += 1
            }
            var count = Int(change.change)
            while next < keys.count, keys[next].rawValue == key {
                count += 1
                next += 1
            }
            for _ in 0..<Swift.max(0, count) { result.append(ObjectKey(key)) }
        }
        result.append(contentsOf: keys[next...])
        return result
    }

    /// Calls `body` with the entries of values from `lower` on and below `upper` until it returns false.
    ///
    /// They are ordered by value, then by key. A nil `upper` means an open end. The bytes of a value are valid only
    /// during the call.
    func forEachEntry(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (_ value: Value, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard let delta, !delta.pointee.isEmpty else {
            return try stored.forEachEntry(from: lower, below: upper, in: transaction, body)
        }
        func isBelowUpper(_ value: Value) -> Bool { upper.map { value.compare($0) < 0 } ?? true }
        func give(_ entry: Entry) throws(StorageError) -> Bool {
            guard isBelowUpper(entry.value) else { return false }
            return try body(entry.value, ObjectKey(entry.key))
        }
        var merge = IndexMerge(delta.pointee.changeSums()) { $0.value.compare(lower) < 0 }
        let tail = delta.pointee.tail
        var continues = true
        try stored.forEachEntry(from: lower, below: upper, in: transaction) {
            (value, key) throws(StorageError) in
            continues = try merge.pass(Entry(value: value, key: key.rawValue), give)
            return continues
        }
        var index = tail.isEmpty ? 0 : delta.pointee.tailIndex(atOrAfter: lower)
        while continues, index < tail.count, isBelowUpper(tail[index].value) {
            continues = try merge.pass(tail[index], give)
            index += 1
        }
        if continues { try merge.finish(below: { isBelowUpper($0.value) }, give) }
    }

    /// Calls `body` with the rows in a range of values until it returns false, in the order of the index.
    ///
    /// The values themselves are not read.
    func forEachKey(
        from lower: Value, below upper: Value?, in transaction: TransactionHandle,
        _ body: (ObjectKey) -> Bool
    ) throws(StorageError) {
        if hasChanges {
            return try forEachEntry(from: lower, below: upper, in: transaction) { body($1) }
        }
        try stored.forEachKey(from: lower, below: upper, in: transaction, body)
    }

    /// Returns the number of entries in a range of values; reads two blocks, and the headers of the blocks between
    /// them.
    ///
    /// The function may stop counting above `maximum`.
    func count(
        from lower: Value, below upper: Value?, atMost maximum: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        guard let delta, !delta.pointee.isEmpty else {
            return try stored.count(from: lower, below: upper, atMost: maximum, in: transaction)
        }
        // Each change removes at most one of the stored entries.
        var total = try stored.count(
            from: lower, below: upper, atMost: maximum.saturatingAdd(delta.pointee.log.count),
            in: transaction)
        let sums = delta.pointee.changeSums()
        total += sums.total { entry in upper.map { entry.value.compare($0) < 0 } ?? true }
        total -= sums.total { $0.value.compare(lower) < 0 }
        let end =
            upper.map { delta.pointee.tailIndex(atOrAfter: $0) } ?? delta.pointee.tail.count
        return total + end - delta.pointee.tailIndex(atOrAfter: lower)
    }

    // MARK: Changing

    /// Adds an entry.
    ///
    /// Takes a constant-time append in memory; ascending values are fastest.
    @inline(__always)
    func insert(
        _ value: Value, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        let delta = delta ?? makeDelta()
        if delta.pointee.wantsTail { try startTail(delta, transaction) }
        delta.pointee.insert(value, key.rawValue)
        if delta.pointee.size >= delta.pointee.nextCheck { try flushIfLarge(delta, transaction) }
    }

    /// Removes one entry, which must exist.
    ///
    /// Takes a constant-time append in memory.
    @inline(__always)
    func remove(
        _ value: Value, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        let delta = delta ?? makeDelta()
        delta.pointee.remove(value, key.rawValue)
        if delta.pointee.size >= delta.pointee.nextCheck { try flushIfLarge(delta, transaction) }
    }

    /// Removes all stored and pending entries.
    func removeAll(in transaction: TransactionHandle) throws(StorageError) {
        cancel()
        try stored.removeAll(in: transaction)
    }

    /// Discards all changes since the last ``flush(in:)``.
    func cancel() {
        dropDelta()
        filter?.deallocate()
        filter = nil
    }

    /// Merges all changes into the stored entries.
    ///
    /// After an error the changes are lost, since a part of them may be merged, and the write must be rolled back.
    func flush(in transaction: TransactionHandle) throws(StorageError) {
        defer { cancel() }
        if let delta, !delta.pointee.isEmpty {
            try stored.merge(
                delta.pointee.takeSums(), UnsafeBufferPointer(delta.pointee.tail.elements),
                in: transaction)
        }
    }

    /// The size of the changes from which their memory is considered; smaller writes have no cost.
    private static var firstCheck: Int { 64 << 10 }

    @inline(never)
    private func makeDelta() -> UnsafeMutablePointer<IndexDelta<Value>> {
        assert(delta == nil, "pending changes are not replaced")
        let created = UnsafeMutablePointer<IndexDelta<Value>>.allocate(capacity: 1)
        created.initialize(to: IndexDelta(nextCheck: Swift.min(pendingLimit, Self.firstCheck)))
        delta = created
        return created
    }

    private func dropDelta() {
        guard let delta else { return }
        self.delta = nil
        delta.pointee.deallocate()
        delta.deinitialize(count: 1)
        delta.deallocate()
    }

    @inline(never)
    private func startTail(
        _ delta: UnsafeMutablePointer<IndexDelta<Value>>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        try stored.withGreatest(in: transaction) { delta.pointee.useTail(above: $0) }
    }

    /// Merges the changes if they take too much memory, otherwise sets the size of the next check.
    @inline(never)
    private func flushIfLarge(
        _ delta: UnsafeMutablePointer<IndexDelta<Value>>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        let size = delta.pointee.size
        let isTail = delta.pointee.isTail
        // Sorting copies the changes, so they may take half of a buffer.
        let maximum = (MemoryAccount.current?.limit).map { $0 / 32 } ?? .max
        let pendingLimit = Swift.min(pendingLimit, maximum)
        let ascending = Swift.min(Value.pendingLimits.ascending, pendingLimit)
        if size < ascending {
            delta.pointee.nextCheck = ascending
        } else if isTail {
            try flush(in: transaction)
        } else if size < pendingLimit {
            delta.pointee.nextCheck = pendingLimit
        } else {
            let quarter = try stored.pages(in: transaction) << 10
            let next = Swift.max(
                pendingLimit, Swift.min(quarter, Value.pendingLimits.greatest, maximum))
            if size >= next { return try flushEarly(delta, transaction) }
            delta.pointee.nextCheck = next
        }
    }

    /// Merges the changes before the end of the write; after an error, they are lost.
    private func flushEarly(
        _ delta: UnsafeMutablePointer<IndexDelta<Value>>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        if filter == nil, try stored.isEmpty(in: transaction) { filter = ValueFilter() }
        if filter?.isFull == true {
            filter?.deallocate()
            filter = nil
        }
        defer { dropDelta() }
        let sums = delta.pointee.takeSums()
        let tail = delta.pointee.tail
        filter?.add(sums, tail)
        try stored.merge(sums, UnsafeBufferPointer(tail.elements), in: transaction)
    }
}

/// An index from bytes to rows in byte order, for columns of strings, data and fixed-size bytes, and for the entries of
/// a ``RowIndex``.
///
/// Values may have any length; all values that share a prefix of more than 500 bytes are in one block.
typealias BytesIndex = SortedIndex<BytesView>

extension SortedIndex where Value == BytesView {
    /// Returns the first row with a value; in a unique index, the only one.
    func find(
        _ bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        try find(BytesView(bytes), in: transaction)
    }

    /// Returns all rows with a value, ascending and with the duplicates in the index.
    func keys(
        equalTo bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        try keys(equalTo: BytesView(bytes), in: transaction)
    }

    /// Adds an entry with a copy of the bytes.
    func insert(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try insert(BytesView(bytes), key, in: transaction)
    }

    /// Removes one entry, which must exist.
    func remove(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try remove(BytesView(bytes), key, in: transaction)
    }

    /// Calls `body` with all entries until it returns false; the bytes are valid only during the call.
    func forEach(
        in transaction: TransactionHandle,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        try forEachEntry(from: .minimum, below: nil, in: transaction) {
            (value, key) throws(StorageError) in
            try body(value.buffer, key)
        }
    }

    /// Returns the rows with values from some bytes on and below others, ordered by value, then by key.
    ///
    /// A nil `upper` means an open end.
    func keys(
        from lower: [UInt8], below upper: [UInt8]?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        try keys(from: lower, below: upper, atMost: .max, in: transaction) ?? []
    }

    /// Returns the rows whose values begin with some bytes, in the order of the index.
    ///
    /// Returns nil if there are more than `maximum`, without reading all of them.
    func keys(
        withPrefix beginning: [UInt8], atMost maximum: Int, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey]? {
        try keys(
            from: beginning, below: Self.end(ofPrefix: beginning), atMost: maximum, in: transaction)
    }

    private func keys(
        from lower: [UInt8], below upper: [UInt8]?, atMost maximum: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey]? {
        var result: [ObjectKey] = []
        try BytesView.with(lower, upper) { lower, upper throws(StorageError) in
            try forEachKey(from: lower, below: upper, in: transaction) { key in
                result.append(key)
                return result.count <= maximum
            }
        }
        return result.count <= maximum ? result : nil
    }

    /// Calls `body` with the rows whose values begin with some bytes, once for each such value of a row.
    func forEachKey(
        withPrefix beginning: [UInt8], in transaction: TransactionHandle,
        _ body: (ObjectKey) -> Void
    ) throws(StorageError) {
        let end = Self.end(ofPrefix: beginning)
        try BytesView.with(beginning, end) { lower, upper throws(StorageError) in
            try forEachKey(from: lower, below: upper, in: transaction) { key in
                body(key)
                return true
            }
        }
    }

    /// Returns the number of entries from some bytes on and below others; may stop counting above `maximum`.
    func count(
        from lower: [UInt8], below upper: [UInt8]?, atMost maximum: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        try BytesView.with(lower, upper) { lower, upper throws(StorageError) in
            try count(from: lower, below: upper, atMost: maximum, in: transaction)
        }
    }

    /// Returns the least bytes that are above all values with a prefix; nil if there are none.
    private static func end(ofPrefix beginning: [UInt8]) -> [UInt8]? {
        var end = beginning
        while let last = end.popLast() {
            if last < 255 { return end + [last + 1] }
        }
        return nil
    }
}

/// An index from integers to rows.
///
/// It indexes an int, date or bool column or, with target keys as values, the backlinks of a link or list column.
typealias IntIndex = SortedIndex<Int64>

extension SortedIndex where Value == Int64 {
    /// Calls `body` with the entries in a range of values until it returns false; they are ordered by value, then by
    /// key.
    func forEach(
        from lower: Int64 = .min, through upper: Int64 = .max, in transaction: TransactionHandle,
        _ body: (_ value: Int64, _ key: ObjectKey) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard lower <= upper else { return }
        try forEachEntry(from: lower, below: Self.end(upper), in: transaction, body)
    }

    /// Returns the rows in a range of values, ordered by value, then by key; nil means an open end.
    func keys(
        from lower: Int64?, through upper: Int64?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        let (lower, upper) = (lower ?? .min, upper ?? .max)
        guard lower <= upper else { return [] }
        var result: [ObjectKey] = []
        try forEachKey(from: lower, below: Self.end(upper), in: transaction) { key in
            result.append(key)
            return true
        }
        return result
    }

    /// Returns the number of entries in a range of values; may stop counting above `maximum`.
    func count(
        from lower: Int64 = .min, through upper: Int64 = .max, atMost maximum: Int = .max,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        guard lower <= upper else { return 0 }
        return try count(from: lower, below: Self.end(upper), atMost: maximum, in: transaction)
    }

    private static func end(_ upper: Int64) -> Int64? { upper == .max ? nil : upper + 1 }
}

/// The hashes of the values that a write has merged into an index that was empty before.
///
/// A bulk load looks up each new value, which the index rarely contains. The filter answers nearly all of these lookups
/// with one memory access; a search of the blocks takes several. Each merge adds a part with 16 to 32 bits for each
/// value.
struct ValueFilter<Value: IndexedValue> {
    private struct Part {
        let words: UnsafeMutableBufferPointer<UInt64>

        init(count: Int) {
            var size = 64
            while size * 4 < count { size *= 2 }
            words = .allocate(capacity: size)
            words.initialize(repeating: 0)
        }

        /// Returns the index of the word of a hash, and the four bits of the hash there.
        @inline(__always)
        func bits(_ hash: UInt64) -> (index: Int, mask: UInt64) {
            let index = Int(truncatingIfNeeded: hash) & (words.count &- 1)
            let one: UInt64 = 1
            let first = one &<< (hash &>> 40) | one &<< (hash &>> 46)
            let second = one &<< (hash &>> 52) | one &<< (hash &>> 58)
            return (index, first | second)
        }

        func insert(_ hash: UInt64) {
            let (index, mask) = bits(hash)
            words[index] |= mask
        }

        @inline(__always)
        func mayContain(_ hash: UInt64) -> Bool {
            let (index, mask) = bits(hash)
            return words[index] & mask == mask
        }
    }

    /// The maximum number of parts; more of them would cost as much as a search of the blocks.
    static var limit: Int { 8 }

    private var parts: [Part] = []

    /// Whether there is no space for another part.
    var isFull: Bool { parts.count == Self.limit }

    func deallocate() {
        for part in parts { part.words.deallocate() }
    }

    /// Adds the values of a merge.
    mutating func add(
        _ changes: UnsafeBufferPointer<IndexChange<Value>>,
        _ tail: GrowableBuffer<IndexEntry<Value>>
    ) {
        assert(!isFull, "a full filter is dropped")
        let part = Part(count: changes.count + tail.count)
        for change in changes where change.change > 0 { part.insert(change.entry.value.hash) }
        for entry in tail.elements { part.insert(entry.value.hash) }
        parts.append(part)
    }

    /// Returns whether a value may be in the blocks; false is certain.
    func mayContain(_ value: Value) -> Bool {
        let hash = value.hash
        return parts.contains { $0.mayContain(hash) }
    }
}
