import LMDBStorage

/// Changes to lists, which are loaded for editing and stored again.
extension ListColumn {
    /// The distance between the labels of new chunks at the end, which allows 32 divisions at one position before
    /// labels are replaced.
    private static let gap: Int64 = 1 << 32
    /// The least distance between labels that replace others; it allows 16 more divisions at one position.
    private static let minNewStep: Int64 = 1 << 16
    /// The maximum number of elements of a chunk in memory before it is divided.
    static let divisionLimit = ListChunk.maximumElements * 2

    /// Returns the list in the state of the write, with at least its last chunk loaded.
    func edit(_ owner: Int64, count: Int?) throws(StorageError) -> EditedList {
        if let list = edited[owner] { return list }
        assert((try? isInline(owner)) != true, "a list in its owner's row is edited in chunks")
        try makeSpace()
        let list: EditedList
        if count == 0 {
            list = EditedList([])
        } else if let count, let last = try lastChunk(owner) {
            list = EditedList(last: last, count: count)
        } else {
            list = EditedList(try storedChunks(owner))
        }
        edited[owner] = list
        pendingBytes += list.chunks.last?.content?.pendingBytes ?? 256
        return list
    }

    /// Stores the changes before the end of the write if they take too much memory.
    ///
    /// The list of `owner`, if any, is opened again with its last chunk, so that the next elements can be appended. Call
    /// it before a change begins, because a list must not be stored in the middle of a change.
    func makeSpace(keeping owner: Int64? = nil) throws(StorageError) {
        if edited.isEmpty { bufferLimit = WriteSession.currentBufferLimit }
        guard pendingBytes > bufferLimit else { return }
        let count = owner.flatMap { edited[$0]?.count }
        try flush()
        if let owner, let count { _ = try edit(owner, count: count) }
    }

    /// Returns whether the elements of a list, and the keys of a map, are in the row of the owner.
    func isInline(_ owner: Int64) throws(StorageError) -> Bool {
        if case .chunks = try place(owner) { return false }
        return try keys?.isInline(owner) ?? true
    }

    private func lastChunk(_ owner: Int64) throws(StorageError) -> EditedList.Chunk? {
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        let key = chunkKey(owner, .max)
        let found = try cursor.before(cursor.setRange(key))
        guard let found, IndexKey.hasPrefix(found.key, prefix),
            let position = IntIndexKey.entry(found.key), position.value == owner
        else { return nil }
        guard let chunk = ListChunk(found.value, words: holdsWords),
            let content = UnpackedChunk(chunk, words: holdsWords)
        else { throw damaged(transaction) }
        return EditedList.Chunk(
            label: position.key, storedCount: chunk.count, content: content, isDirty: false)
    }

    private func storedChunks(_ owner: Int64) throws(StorageError) -> [EditedList.Chunk] {
        try directory(owner).chunks.map {
            EditedList.Chunk(
                label: $0.label, storedCount: $0.chunk.count, content: nil, isDirty: false)
        }
    }

    /// Loads the list of all chunks.
    func complete(_ list: EditedList, _ owner: Int64) throws(StorageError) {
        guard list.prefix > 0 else { return }
        let known = list.chunks.first?.label ?? .max
        let before = try storedChunks(owner).filter { $0.label! < known }  // because: stored
        guard before.reduce(0, { $0 + $1.count }) == list.prefix else {
            throw damaged(try pages.transaction())
        }
        list.prepend(before)
    }

    /// Loads the elements of a chunk, to change them.
    func load(_ list: EditedList, _ owner: Int64, _ index: Int) throws(StorageError) {
        guard list.chunks[index].content == nil else { return }
        let content = try content(list, owner, index)
        pendingBytes += content.pendingBytes
        list.chunks[index].content = content
    }

    /// Returns the elements of a chunk; if the chunk is not loaded, it remains so, because a long list would not fit
    /// into memory.
    func content(
        _ list: EditedList, _ owner: Int64, _ index: Int
    ) throws(StorageError) -> UnpackedChunk {
        if let content = list.chunks[index].content { return content }
        let chunk = try stored(list, owner, index)
        guard let content = UnpackedChunk(chunk, words: holdsWords) else {
            throw damaged(try pages.transaction())
        }
        return content
    }

    /// Returns an element of a chunk, without loading the chunk.
    func element(
        _ list: EditedList, _ owner: Int64, _ index: Int, _ offset: Int
    ) throws(StorageError) -> ListElement {
        if let content = list.chunks[index].content { return content.element(offset, elementKind) }
        let chunk = try stored(list, owner, index)
        if chunk.isNull(offset) { return .null }
        if holdsWords { return elementKind.element(word: chunk.word(offset)) }
        guard let bytes = chunk.bytes(offset) else { throw damaged(try pages.transaction()) }
        return .bytes([UInt8](bytes))
    }

    private func stored(
        _ list: EditedList, _ owner: Int64, _ index: Int
    ) throws(StorageError) -> ListChunk {
        let transaction = try pages.transaction()
        // Only stored chunks have no content, and they have a label.
        guard let label = list.chunks[index].label,
            let bytes = try transaction.get(pages.table, chunkKey(owner, label)),
            let chunk = ListChunk(bytes, words: holdsWords),
            chunk.count == list.chunks[index].storedCount
        else { throw damaged(transaction) }
        return chunk
    }

    /// Removes all elements of a list, and its stored chunks.
    package func removeAll(_ owner: ObjectKey) throws(StorageError) {
        let owner = owner.rawValue
        let isRemoved: Void? = try changeInline(owner) { content in
            let count = content.count
            content.clear(words: holdsWords)
            return ((), CollectionEdits.Edit.remove(at: 0, count: count))
        }
        if isRemoved == nil { try removeChunks(owner) }
        try keys?.removeAll(ObjectKey(rawValue: owner))
    }

    /// Removes all elements of a long list, which is then a list in its owner's row.
    private func removeChunks(_ owner: Int64) throws(StorageError) {
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        var entry = try cursor.setRange(chunkKey(owner, .min))
        while let found = entry, IndexKey.hasPrefix(found.key, prefix),
            IntIndexKey.entry(found.key)?.value == owner
        {
            try cursor.delete()
            entry = try cursor.next()
        }
        pages.invalidate()
        let edits = edited[owner]?.edits ?? CollectionEdits()
        guard let inline else {
            edited[owner] = EditedList([], edits: edits)
            return
        }
        recordedEdits.record(edits, of: owner, limit: bufferLimit)
        edited[owner] = nil
        inline.store(UnsafeRawBufferPointer(start: nil, count: 0), owner)
    }

    /// Removes every list of the column.
    package func removeAllLists() throws(StorageError) {
        edited.removeAll()
        recordedEdits.removeAll()
        pendingBytes = 0
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        var entry = try cursor.setRange(chunkKey(.min, .min))
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            try cursor.delete()
            entry = try cursor.next()
        }
        pages.invalidate()
        try keys?.removeAllLists()
    }

    /// Discards all changes since the last flush, and the recorded edits of the write.
    package func cancel() {
        discardEdited()
        recordedEdits.removeAll()
        keys?.recordedEdits.removeAll()
    }

    /// Discards all changes since the last flush.
    func discardEdited() {
        edited.removeAll()
        pendingBytes = 0
        flushCount += 1
        pages.invalidate()
        keys?.discardEdited()
    }

    /// Stores all changed chunks.
    package func flush() throws(StorageError) {
        try keys?.flush()
        guard !edited.isEmpty else { return }
        let transaction = try pages.transaction()
        var buffer = GrowableBuffer<UInt8>(capacity: 8192)
        defer { buffer.deallocate() }
        let lists = edited.sorted { $0.key < $1.key }
        // Lists after all others are appended, which leaves no half-empty pages.
        var isAppending = false
        if let first = lists.first {
            let cursor = try transaction.cursor(pages.table)
            let key = chunkKey(first.key, .min)
            isAppending = try cursor.setRange(key) == nil
        }
        pages.invalidate()
        for (owner, list) in lists {
            try store(list, of: owner, in: transaction, buffer: &buffer, isAppending: isAppending)
            recordedEdits.record(list.edits, of: owner, limit: bufferLimit)
        }
        edited.removeAll()
        pendingBytes = 0
        flushCount += 1
        pages.invalidate()
    }

    private func store(
        _ list: EditedList, of owner: Int64, in transaction: TransactionHandle,
        buffer: inout GrowableBuffer<UInt8>, isAppending: Bool
    ) throws(StorageError) {
        for label in list.removedLabels {
            try transaction.delete(
                pages.table, chunkKey(owner, label))
        }
        guard list.chunks.contains(where: \.isDirty) else { return }
        try joinSmall(list, owner, transaction)
        divide(list)
        try assignLabels(list, owner, transaction)
        assert(
            list.chunks.allSatisfy { $0.label != nil && ($0.content != nil || !$0.isDirty) },
            "each chunk has a label, and changed chunks are loaded")
        for chunk in list.chunks where chunk.isDirty {
            guard let content = chunk.content, let label = chunk.label else { continue }
            content.pack(into: &buffer)
            try transaction.put(
                pages.table, chunkKey(owner, label),
                UnsafeRawBufferPointer(buffer.elements), append: isAppending)
        }
    }

    /// Joins a small changed chunk with the next one.
    private func joinSmall(
        _ list: EditedList, _ owner: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var index = 0
        while index + 1 < list.chunks.count {
            guard list.chunks[index].isDirty, list.chunks[index].count < 64,
                list.chunks[index + 1].count < ListChunk.maximumElements / 2
            else {
                index += 1
                continue
            }
            try load(list, owner, index)
            try load(list, owner, index + 1)
            let next = list.chunks.remove(at: index + 1)
            if let content = next.content {
                list.chunks[index].content?.append(contentsOf: content)
            }
            if let label = next.label {
                try transaction.delete(
                    pages.table, chunkKey(owner, label))
            }
        }
    }

    /// Divides the chunks that are too large to be stored as one.
    private func divide(_ list: EditedList) {
        var index = 0
        while index < list.chunks.count {
            guard list.chunks[index].isDirty, let content = list.chunks[index].content else {
                index += 1
                continue
            }
            // In the middle, both parts keep free space; at the end, chunks are filled.
            let parts = content.divided(fillsChunks: index == list.chunks.count - 1)
            if parts.count > 1 {
                list.chunks[index].content = parts[0]
                let added = parts.dropFirst().map {
                    EditedList.Chunk(label: nil, storedCount: 0, content: $0, isDirty: true)
                }
                list.chunks.insert(contentsOf: added, at: index + 1)
            }
            index += parts.count
        }
        assert(
            list.chunks.allSatisfy { !$0.isDirty || $0.count <= ListChunk.maximumElements },
            "each changed chunk can be stored")
    }

    /// Assigns labels between those of their neighbors to new chunks.
    ///
    /// If many divisions at one position have left too few labels, the nearest chunks around it receive new labels too.
    private func assignLabels(
        _ list: EditedList, _ owner: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var index = 0
        while index < list.chunks.count {
            guard list.chunks[index].label == nil else {
                index += 1
                continue
            }
            var run = index..<list.endOfNewChunks(from: index)
            if Self.labels(for: run, of: list, minStep: 1) == nil {
                if list.prefix > 0 {
                    let known = list.chunks.count
                    try complete(list, owner)
                    let added = list.chunks.count - known
                    run = run.lowerBound + added..<run.upperBound + added
                }
                run = try releaseLabels(around: run, of: list, owner, transaction)
            }
            guard let labels = Self.labels(for: run, of: list, minStep: 1) else {
                throw damaged(transaction)
            }
            for (offset, position) in run.enumerated() {
                list.chunks[position].label = labels.first + Int64(offset) * labels.step
            }
            index = run.upperBound
        }
    }

    /// Returns equally spaced labels for chunks between two chunks with labels; nil if their distance is less than
    /// `minStep`, or if the labels of a damaged file are at the ends of the range of numbers.
    private static func labels(
        for run: Range<Int>, of list: EditedList, minStep: Int64
    ) -> (first: Int64, step: Int64)? {
        let before = run.lowerBound > 0 ? list.chunks[run.lowerBound - 1].label : nil
        let after = run.upperBound < list.chunks.count ? list.chunks[run.upperBound].label : nil
        let (length, isTooLong) = gap.multipliedReportingOverflow(by: Int64(run.count))
        guard !isTooLong else { return nil }
        switch (before, after) {
        case (nil, nil): return (0, gap)
        case (let before?, nil):
            return before.addingReportingOverflow(length).overflow ? nil : (before + gap, gap)
        case (nil, let after?):
            let (first, overflow) = after.subtractingReportingOverflow(length)
            return overflow ? nil : (first, gap)
        case (let before?, let after?):
            let (distance, overflow) = after.subtractingReportingOverflow(before)
            let step = distance / Int64(run.count + 1)
            return overflow || step < minStep ? nil : (before + step, step)
        }
    }

    /// Removes the labels of the chunks around new ones, of as many as necessary for new labels with large gaps.
    ///
    /// Only these chunks are loaded, because a long list would not fit into memory. Returns the range of chunks without
    /// a label.
    private func releaseLabels(
        around run: Range<Int>, of list: EditedList, _ owner: Int64,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Range<Int> {
        var wide = run
        var more = 1
        repeat {
            let end = Swift.min(list.chunks.count, wide.upperBound + more)
            wide = Swift.max(0, wide.lowerBound - more)..<list.endOfNewChunks(from: end)
            more *= 2
        } while Self.labels(for: wide, of: list, minStep: Self.minNewStep) == nil
            && wide.count < list.chunks.count
        assert(
            wide.lowerBound <= run.lowerBound && wide.upperBound >= run.upperBound,
            "the new chunks are among those without a label")
        for index in wide {
            try load(list, owner, index)
            guard let label = list.chunks[index].label else { continue }
            try transaction.delete(pages.table, chunkKey(owner, label))
            list.chunks[index].label = nil
            list.chunks[index].isDirty = true
        }
        return wide
    }
}

extension ListElement {
    /// The size in bytes of the element in a list that is not stored yet.
    var pendingBytes: Int {
        // The array's header, rounding, and the reference to it, which may be stored twice while a list grows.
        if case .bytes(let bytes) = self { return 64 + bytes.count }
        return 16
    }
}
