import LMDBStorage

/// The short lists of a list column, each of which is a value in the row of its owner.
///
/// The value is a ``ListChunk``; empty for a list without elements, and one byte for a list whose elements are in the
/// list table.
package struct InlineLists {
    /// The location of the elements of a list.
    enum Place {
        case nowhere
        case row(ListChunk)
        case chunks
    }

    /// The maximum size in bytes of a list in a row.
    ///
    /// A commit that changes one row writes the values of 496 rows again, so longer lists would make small changes
    /// expensive.
    static let maximumBytes = 256
    static let chunksMark: [UInt8] = [255]

    // because: the reader owns the column that has this value, and each ListReader keeps the reader.
    unowned(unsafe) let rows: TableReader
    let column: ColumnID

    /// Returns where the elements of a list are stored.
    @inline(__always)
    func place(_ owner: Int64, words: Bool) throws(StorageError) -> Place {
        let key = ObjectKey(rawValue: owner)
        guard let cell = try rows.cell(column, key, .data) else {
            return rows.isClosed ? .chunks : .nowhere
        }
        let bytes = try rows.bytes(column, key, cell)
        if bytes.isEmpty { return .nowhere }
        if bytes.count == Self.chunksMark.count { return .chunks }
        guard let chunk = ListChunk(bytes, words: words) else {
            throw rows.source.damaged("a list")
        }
        return .row(chunk)
    }

    /// Whether a row is older than the open write, so that observers need to know how its lists change.
    func isOld(_ owner: Int64) -> Bool {
        rows.overlay.map { owner < $0.headBefore.keyBound } ?? true
    }

    /// Stores the elements of a list, or a mark that they are in chunks.
    func store(_ bytes: UnsafeRawBufferPointer, _ owner: Int64) {
        // because: lists are changed only in a write that has opened the table.
        rows.overlay!.setBytes(column, ObjectKey(rawValue: owner), bytes)
    }
}

// Changes of short lists. They go to the row at once, so that only long lists take memory of their own until the
// commit.
extension ListColumn {
    /// Changes a list that is in its owner's row; returns nil, without a change, for a long list.
    ///
    /// A list that becomes too long for the row is moved to chunks.
    func changeInline<Result>(
        _ owner: Int64,
        _ body: (inout UnpackedChunk) throws(StorageError) -> (Result, CollectionEdits.Edit)
    ) throws(StorageError) -> Result? {
        guard let inline, edited.isEmpty || edited[owner] == nil else { return nil }
        switch try inline.place(owner, words: holdsWords) {
        case .chunks: return nil
        case .nowhere: scratch.clear(words: holdsWords)
        case .row(let chunk):
            guard scratch.load(chunk) else { throw inline.rows.source.damaged("a list") }
        }
        let (result, edit) = try body(&scratch)
        if inline.isOld(owner) {
            if bufferLimit == 0 { bufferLimit = WriteSession.currentBufferLimit }
            var edits = CollectionEdits()
            edits.append(edit)
            recordedEdits.record(edits, of: owner, limit: bufferLimit)
        }
        storeInline(scratch, owner, inline)
        return result
    }

    private func storeInline(_ content: UnpackedChunk, _ owner: Int64, _ inline: InlineLists) {
        if content.count == 0 {
            return inline.store(UnsafeRawBufferPointer(start: nil, count: 0), owner)
        }
        let size = content.packedSize
        guard size <= InlineLists.maximumBytes, content.count <= ListChunk.maximumElements else {
            edited[owner] = EditedList([
                EditedList.Chunk(label: nil, storedCount: 0, content: content, isDirty: true)
            ])
            pendingBytes += content.pendingBytes
            return InlineLists.chunksMark.withUnsafeBytes { inline.store($0, owner) }
        }
        withUnsafeTemporaryAllocation(byteCount: InlineLists.maximumBytes, alignment: 8) { memory in
            // because: the allocation is not empty.
            content.pack(into: memory.baseAddress!)
            inline.store(UnsafeRawBufferPointer(rebasing: memory[..<size]), owner)
        }
    }
}

extension TableOverlay {
    /// Sets the bytes of a column without an index.
    func setBytes(_ column: ColumnID, _ key: ObjectKey, _ bytes: UnsafeRawBufferPointer) {
        let (cluster, row) = session.position(of: key)
        let leaf = unpackedLeaf(column.rawValue + 1, cluster)
        leaf.mark(row)
        leaf.setPointer(row, bytes.isEmpty ? bytes : arena(cluster).copy(bytes))
    }
}
