/// A state of an open write to which it can be rolled back.
///
/// At a savepoint, all changes of the write are in LMDB's transaction. Rolling back discards the later changes that are
/// in memory, restores the entries of the transaction that were replaced since, and reverts the marks from which
/// the change set is created.
package struct Savepoint {
    /// The position in the undo log of the transaction.
    let log: Int
    /// The states of the tables that the write had touched.
    let tables: [TableID: TableOverlay.Mark]
    let definitions: [TableID: TableDefinition]
    let isSchemaChanged: Bool
    let isVersionChanged: Bool
    let reloadsMetadata: Bool
    let deltaBuffer: DeltaBufferStorage.Mark
}

extension TableOverlay {
    /// The state of a table at a savepoint.
    struct Mark {
        let definition: TableDefinition
        let keyBound: Int64
        let count: Int
        let clusterCount: Int
        let isRemoved: Bool
        let headAfter: TableHead?
        let marks: Int
        let presence: Int
        /// The positions in the recorded edits of the lists.
        let edits: [(list: ListColumn, mark: Int)]
    }

    /// Returns the state of the table, whose changes are all in the transaction.
    func mark() -> Mark {
        assert(leaves.isEmpty && (isTailPacked || isRemoved), "a savepoint with changes in memory")
        var edits: [(list: ListColumn, mark: Int)] = []
        for list in reader.lists {
            if let list { edits.append((list, list.recordedEdits.mark())) }
        }
        return Mark(
            definition: reader.definition, keyBound: reader.keyBound, count: reader.count,
            clusterCount: reader.clusterCount, isRemoved: isRemoved, headAfter: headAfter,
            marks: marks.mark(), presence: presence.mark(), edits: edits)
    }

    /// Keeps the changes since the oldest savepoint.
    func endMarks() {
        marks.endMarks()
        presence.endMarks()
        for list in reader.lists { list?.recordedEdits.endMarks() }
    }

    /// Discards the changes that are not in the transaction.
    func discardChangesInMemory() {
        discardLeaves()
        for list in reader.lists { list?.discardEdited() }
        for index in reader.intIndexes { index?.cancel() }
        for index in reader.bytesIndexes { index?.cancel() }
        for index in reader.rowIndexes { index.cancel() }
    }

    /// Restores the state at a savepoint, whose entries are in the transaction again.
    func restore(_ mark: Mark) throws(StorageError) {
        assert(leaves.isEmpty, "a savepoint is restored after the changes in memory are discarded")
        marks.rollBack(to: mark.marks)
        presence.rollBack(to: mark.presence)
        isRemoved = mark.isRemoved
        headAfter = mark.headAfter
        for (list, mark) in mark.edits { list.recordedEdits.rollBack(to: mark) }
        try reader.restore(
            mark.definition, keyBound: mark.keyBound, count: mark.count,
            clusterCount: mark.clusterCount)
        recent = Array(repeating: nil, count: reader.definition.columns.count + 1)
        for index in reader.rowIndexes { index.begin(mark.keyBound) }
    }

    /// Returns to the state before the write.
    ///
    /// The table remains touched: the commit frees the pages of its entries that the transaction has changed and
    /// restored.
    func restart() throws(StorageError) {
        discard()
        reader.dropTail()
        for list in reader.lists { list?.cancel() }
        try reader.open()
        begin(session)
        touch()
    }
}
