import LMDBStorage

/// An index whose entries are computed from rows: the terms of a text, or several columns at once.
///
/// A write does not update the index for every property that it sets. Before a row changes, its entries are removed and
/// the row is marked as pending; new rows are always pending. ``addPending(_:in:)`` adds the entries of all pending
/// rows. It is called before the index is read, at the commit, and from time to time during a long write, but never
/// while a value is being set.
final class RowIndex {
    let definition: RowIndexDefinition
    let index: BytesIndex
    /// The key below which all rows have entries, except the pending ones.
    private var bound: Int64 = 0
    private var pending: Set<Int64> = []
    private var entries = RowEntries()

    /// The maximum number of pending rows.
    private static let pendingLimit = 8192

    init(_ definition: RowIndexDefinition, table: TableID, tables: IndexTables) {
        self.definition = definition
        index = BytesIndex(table: table, column: definition.storedColumn, tables: tables)
    }

    deinit { entries.deallocate() }

    /// Begins a write in which all rows below `bound` have their entries.
    func begin(_ bound: Int64) {
        self.bound = bound
        pending = []
    }

    /// Discards the state of the write.
    func cancel() {
        index.cancel()
        pending = []
    }

    /// Removes the entries of a row before one of its values changes.
    func willChange(
        _ key: ObjectKey, _ reader: TableReader, in transaction: TransactionHandle
    ) throws(StorageError) {
        guard key.rawValue < bound, !pending.contains(key.rawValue) else { return }
        // All pending rows are complete here, because the next change has not begun.
        if pending.count >= Self.pendingLimit { try addPending(reader, in: transaction) }
        try removeEntries(key, reader, in: transaction)
        pending.insert(key.rawValue)
    }

    /// Removes the entries of a row before it is deleted, when its values do not change any more.
    func willDelete(
        _ key: ObjectKey, _ reader: TableReader, in transaction: TransactionHandle
    ) throws(StorageError) {
        guard key.rawValue < bound, pending.remove(key.rawValue) == nil else { return }
        try removeEntries(key, reader, in: transaction)
    }

    /// Marks a restored row as pending, so that it receives the entries of its values.
    func willRevive(_ key: ObjectKey) {
        if key.rawValue < bound { pending.insert(key.rawValue) }
    }

    private func removeEntries(
        _ key: ObjectKey, _ reader: TableReader, in transaction: TransactionHandle
    ) throws(StorageError) {
        try entries.collect(definition, of: key, from: reader)
        try entries.forEach { bytes throws(StorageError) in
            try index.remove(bytes, key, in: transaction)
        }
    }

    /// Adds the entries of all pending and new rows.
    func addPending(
        _ reader: TableReader, in transaction: TransactionHandle
    ) throws(StorageError) {
        if !pending.isEmpty {
            let keys = pending.sorted()
            pending = []
            for key in keys { try addEntries(ObjectKey(key), reader, in: transaction) }
        }
        let end = reader.keyBound
        guard bound < end else { return }
        let first = bound
        bound = end
        for cluster in Int(first) / Cluster.rows..<reader.clusterCount {
            try Interruption.step(Cluster.rows)
            let base = Int64(cluster * Cluster.rows)
            try reader.presence(cluster).forEachRow { row throws(StorageError) in
                let key = base + Int64(row)
                if key >= first { try addEntries(ObjectKey(key), reader, in: transaction) }
            }
        }
    }

    private func addEntries(
        _ key: ObjectKey, _ reader: TableReader, in transaction: TransactionHandle
    ) throws(StorageError) {
        try entries.collect(definition, of: key, from: reader)
        try entries.forEach { bytes throws(StorageError) in
            try index.insert(bytes, key, in: transaction)
        }
    }
}

/// The definition of a ``RowIndex``: the values from which the entries of a row are computed.
enum RowIndexDefinition: Hashable {
    /// The terms of a column of strings, without duplicates.
    case terms(ColumnID)
    /// The values of several columns, one after the other.
    case columns(CompositeIndexDefinition)

    /// The number, in the numbering of the columns, under which the blocks are stored.
    var storedColumn: ColumnID {
        switch self {
        case .terms(let column): ColumnID(IndexKey.terms + column.rawValue)
        case .columns(let composite): ColumnID(IndexKey.composites + composite.id)
        }
    }

    /// Returns whether the entries of a row depend on a column.
    func depends(on column: ColumnID) -> Bool {
        switch self {
        case .terms(let own): own == column
        case .columns(let composite): composite.columns.contains(column)
        }
    }
}

extension TableDefinition {
    /// The indexes whose entries are computed from rows.
    var rowIndexes: [RowIndexDefinition] {
        columns.filter { $0.isFullText && !$0.isDropped }.map { .terms($0.id) }
            + compositeIndexes.map { .columns($0) }
    }
}

/// The entries of one row; the memory is reused for the next row.
struct RowEntries {
    private var bytes = GrowableBuffer<UInt8>()
    private var ends = GrowableBuffer<Int>()
    private var order = GrowableBuffer<BytesView>()

    func deallocate() {
        bytes.deallocate()
        ends.deallocate()
        order.deallocate()
    }

    /// Computes the entries of a row, ascending and without duplicates.
    mutating func collect(
        _ definition: RowIndexDefinition, of key: ObjectKey, from reader: TableReader
    ) throws(StorageError) {
        bytes.truncate(to: 0)
        ends.truncate(to: 0)
        order.truncate(to: 0)
        switch definition {
        case .terms(let column):
            guard let text = try reader.borrowedBytes(column, key) else { return }
            var failure: StorageError?
            TextTerms.forEach(in: Span(_unsafeBytes: text)) { term in
                term.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
                ends.append(bytes.count)
                do throws(StorageError) { try Interruption.step() } catch { failure = error }
                return failure == nil
            }
            if let failure { throw failure }
        case .columns(let composite):
            try CompositeCoding.append(composite.columns, reader, key, to: &bytes)
            ends.append(bytes.count)
        }
        var start = 0
        for end in ends.elements {
            order.append(
                BytesView(start: UnsafeRawPointer(bytes.base + start), count: end - start))
            start = end
        }
        if order.count > 1 { sort() }
    }

    private mutating func sort() {
        var elements = order.elements
        elements.sort { $0.compare($1) < 0 }
        var kept = 1
        for index in 1..<order.count where order[index].compare(order[kept - 1]) != 0 {
            order[kept] = order[index]
            kept += 1
        }
        order.truncate(to: kept)
        assert(
            (1..<order.count).allSatisfy { order[$0 - 1].compare(order[$0]) < 0 },
            "the entries of a row ascend without duplicates")
    }

    func forEach(
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        for index in 0..<order.count { try body(order[index].buffer) }
    }
}
