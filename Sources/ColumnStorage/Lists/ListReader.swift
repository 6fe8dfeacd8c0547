import LMDBStorage

/// A reader of a list property of one row.
///
/// It follows its snapshot, and in a write includes the changes of the write.
///
/// It is a value of two words that can be kept as long as the snapshot. The first read of an element at a version reads
/// the chunks of the list up to the element; for a short list or one of the last elements, it takes a search. Later, an
/// element of a list of a million takes two binary searches and a load. All functions throw `damaged` for invalid
/// stored bytes and `closed` after the snapshot has been closed.
package struct ListReader {
    let column: ListColumn
    let owner: Int64
    /// The reader of the owners, which the column does not keep.
    private let rows: TableReader?

    init(_ column: ListColumn, _ owner: ObjectKey) {
        self.column = column
        self.owner = owner.rawValue
        rows = column.owners
    }

    /// The number of elements.
    package var count: Int {
        get throws(StorageError) {
            if let list = column.edited[owner] { return list.count }
            switch try column.place(owner) {
            case .nowhere: return 0
            case .row(let chunk): return chunk.count
            case .chunks: return try column.directory(owner).count
            }
        }
    }

    /// Returns an element; nil past the end.
    package func element(at position: Int) throws(StorageError) -> ListElement? {
        guard position >= 0 else { return nil }
        if let list = column.edited[owner] {
            guard position < list.count else { return nil }
            let (chunk, offset) = try locate(list, position)
            return try column.element(list, owner, chunk, offset)
        }
        guard let (chunk, offset) = try locate(position) else { return nil }
        return try element(chunk, offset)
    }

    /// Returns an element as an integer, for Booleans, ints, dates and links.
    ///
    /// Returns nil for null, past the end, and for other kinds.
    package func int(at position: Int) throws(StorageError) -> Int64? {
        guard position >= 0, column.holdsWords else { return nil }
        if column.edited.isEmpty {
            guard let (chunk, offset) = try locate(position), !chunk.isNull(offset) else {
                return nil
            }
            if column.elementKind == .float || column.elementKind == .double { return nil }
            return chunk.word(offset)
        }
        guard case .int(let value) = try element(at: position) else { return nil }
        return value
    }

    /// Returns an element as a linked row.
    ///
    /// Returns nil for null, past the end, and for other kinds.
    package func key(at position: Int) throws(StorageError) -> ObjectKey? {
        try int(at: position).map { ObjectKey(rawValue: $0) }
    }

    /// Returns an element as a double, for doubles and floats.
    ///
    /// Returns nil for null, past the end, and for other kinds.
    package func double(at position: Int) throws(StorageError) -> Double? {
        switch try element(at: position) {
        case .double(let value): value
        case .float(let value): Double(value)
        default: nil
        }
    }

    /// Calls `body` with the bytes of an element; nil for null, past the end, and for other kinds.
    package func withBytes<Result>(
        at position: Int, _ body: (RawSpan) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        guard position >= 0, !column.holdsWords else { return nil }
        if column.edited[owner] == nil {
            guard let (chunk, offset) = try locate(position), !chunk.isNull(offset) else {
                return nil
            }
            guard let bytes = chunk.bytes(offset) else {
                throw column.damaged(try column.pages.transaction())
            }
            return try body(bytes.bytes)
        }
        guard case .bytes(let bytes) = try element(at: position) else { return nil }
        return try body(bytes.span.bytes)
    }

    /// Calls `body` with every element in order until it returns false.
    ///
    /// The body must not change lists.
    package func forEach(
        _ body: (ListElement) throws(StorageError) -> Bool
    ) throws(StorageError) {
        if let list = column.edited[owner] {
            try column.complete(list, owner)
            var chunk = 0
            while chunk < list.chunks.count {
                let content = try column.content(list, owner, chunk)
                try Interruption.step(content.count)
                for offset in 0..<content.count {
                    guard try body(content.element(offset, column.elementKind)) else { return }
                }
                chunk += 1
            }
            return
        }
        for stored in try column.chunks(of: owner) {
            try Interruption.step(stored.chunk.count)
            for offset in 0..<stored.chunk.count {
                guard try body(try element(stored.chunk, offset)) else { return }
            }
        }
    }

    /// Returns all elements in order.
    package func elements() throws(StorageError) -> [ListElement] {
        var result: [ListElement] = []
        result.reserveCapacity(try count)
        try forEach { element throws(StorageError) in
            result.append(element)
            return true
        }
        return result
    }

    /// Returns all elements as integers, in order and without nulls.
    ///
    /// The result is empty for lists of other kinds.
    package func ints() throws(StorageError) -> [Int64] {
        guard column.holdsWords, column.elementKind != .float, column.elementKind != .double
        else { return [] }
        return try words()
    }

    /// Returns all elements as linked rows, in order.
    package func keys() throws(StorageError) -> [ObjectKey] {
        try ints().map { ObjectKey(rawValue: $0) }
    }

    /// Returns the first position of an equal element, or nil if there is none.
    package func firstIndex(of element: ListElement) throws(StorageError) -> Int? {
        var position = 0
        var found: Int?
        try forEach { candidate throws(StorageError) in
            if candidate == element {
                found = position
                return false
            }
            position += 1
            return true
        }
        return found
    }

    private func words() throws(StorageError) -> [Int64] {
        var result: [Int64] = []
        if column.edited[owner] != nil {
            try forEach { element throws(StorageError) in
                if let word = element.word { result.append(word) }
                return true
            }
            return result
        }
        let chunks = try column.chunks(of: owner)
        result.reserveCapacity(chunks.last.map { $0.first + $0.chunk.count } ?? 0)
        for stored in chunks {
            let chunk = stored.chunk
            for offset in 0..<chunk.count where !chunk.isNull(offset) {
                result.append(chunk.word(offset))
            }
        }
        return result
    }

    private func locate(_ position: Int) throws(StorageError) -> (ListChunk, Int)? {
        switch try column.place(owner) {
        case .nowhere: return nil
        case .row(let chunk): return position < chunk.count ? (chunk, position) : nil
        case .chunks:
            guard let found = try column.chunk(owner, at: position) else { return nil }
            return (found.chunk, position - found.first)
        }
    }

    func element(
        _ chunk: ListChunk, _ offset: Int
    ) throws(StorageError) -> ListElement {
        if chunk.isNull(offset) { return .null }
        if column.holdsWords { return column.elementKind.element(word: chunk.word(offset)) }
        guard let bytes = chunk.bytes(offset) else {
            throw column.damaged(try column.pages.transaction())
        }
        return .bytes([UInt8](bytes))
    }

    /// Finds an element of an edited list.
    private func locate(
        _ list: EditedList, _ position: Int
    ) throws(StorageError) -> (chunk: Int, offset: Int) {
        // The last chunks are known; only an element before them needs the others.
        if position < list.prefix { try column.complete(list, owner) }
        guard let found = list.locate(position - list.prefix) else {
            throw column.damaged(try column.pages.transaction())
        }
        return found
    }
}
