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

// Searching in sorted collections: in the elements of a set, and in the keys of a map.
extension ListReader {
    /// Returns the first position whose element is in the second part of a sorted collection; the count if there is
    /// none.
    ///
    /// Elements of the first part must all precede those of the second.
    ///
    /// Takes a binary search over the chunks and one inside a chunk. In a write, an index after the start of the last
    /// chunk is found without reading any other chunk.
    package func partitioningIndex(
        where isInSecondPart: (ListElement) throws(StorageError) -> Bool
    ) throws(StorageError) -> Int {
        if let list = column.edited[owner] {
            return try column.partitioningIndex(list, owner, isInSecondPart)
        }
        let all = try column.chunks(of: owner)
        let chunks = try bisect(all.count) { (index) throws(StorageError) in
            try isInSecondPart(try element(all[index].chunk, 0))
        }
        guard chunks > 0 else { return 0 }
        let stored = all[chunks - 1]
        return stored.first
            + (try bisect(stored.chunk.count) { (offset) throws(StorageError) in
                try isInSecondPart(try element(stored.chunk, offset))
            })
    }

    /// Returns the first position of a text that is at least `bytes` in a collection sorted in byte order, and whether
    /// they are equal.
    func search(bytes: RawSpan) throws(StorageError) -> (position: Int, isThere: Bool) {
        var isThere = false
        let position = try bytes.withUnsafeBytes { wanted throws(StorageError) -> Int in
            try partitioningIndex { element throws(StorageError) in
                guard case .bytes(let text) = element else { return false }
                let order = text.withUnsafeBytes { BytesView($0).compare(BytesView(wanted)) }
                // The last compared text in the second part is the first text of that part.
                if order >= 0 { isThere = order == 0 }
                return order >= 0
            }
        }
        return (position, isThere)
    }
}

extension ListColumn {
    /// Returns the same position inside a write.
    func partitioningIndex(
        _ list: EditedList, _ owner: Int64,
        _ isInSecondPart: (ListElement) throws(StorageError) -> Bool
    ) throws(StorageError) -> Int {
        // An incomplete list has its last chunk.
        if list.prefix > 0, try isInSecondPart(element(list, owner, 0, 0)) {
            try complete(list, owner)
        }
        let chunks = try bisect(list.chunks.count) { (index) throws(StorageError) in
            try isInSecondPart(try element(list, owner, index, 0))
        }
        guard chunks > 0 else { return list.prefix }
        var position = list.prefix
        for index in 0..<chunks - 1 { position += list.chunks[index].count }
        return position
            + (try bisect(list.chunks[chunks - 1].count) { (offset) throws(StorageError) in
                try isInSecondPart(element(list, owner, chunks - 1, offset))
            })
    }
}

/// Returns the first number below `count` for which a test is true; the test must be true for all later numbers.
private func bisect(
    _ count: Int, _ test: (Int) throws(StorageError) -> Bool
) throws(StorageError) -> Int {
    var low = 0
    var high = count
    while low < high {
        let middle = low + (high - low) / 2
        if try test(middle) { high = middle } else { low = middle + 1 }
    }
    return low
}

/// A reader of a map property of one row.
///
/// It follows its snapshot, and in a write includes the changes of the write. Keys are strings in byte order; keys and
/// values are two sequences of chunks of the same length.
///
/// Throws `damaged` for invalid stored bytes and `closed` after the snapshot has been closed.
package struct MapReader {
    /// The values in the order of their keys.
    package let values: ListReader
    /// The keys, as bytes.
    package let keys: ListReader

    init(values: ListReader, keys: ListReader) {
        self.values = values
        self.keys = keys
    }

    /// The number of entries.
    package var count: Int {
        get throws(StorageError) { try keys.count }
    }

    /// Returns the value of a key; nil if the map does not have the key.
    ///
    /// Takes a binary search.
    package func value(_ key: [UInt8]) throws(StorageError) -> ListElement? {
        let (position, isThere) = try search(key.span.bytes)
        guard isThere else { return nil }
        guard let value = try values.element(at: position) else { throw try damaged() }
        return value
    }

    /// Returns the position or the insertion position of a key, and whether the map has the key.
    package func search(
        _ key: RawSpan
    ) throws(StorageError) -> (position: Int, isThere: Bool) {
        try keys.search(bytes: key)
    }

    /// Returns the key at a position; nil past the end.
    package func key(at position: Int) throws(StorageError) -> [UInt8]? {
        guard case .bytes(let key) = try keys.element(at: position) else { return nil }
        return key
    }

    /// Returns all entries in the order of their keys.
    package func entries() throws(StorageError) -> [(key: [UInt8], value: ListElement)] {
        let (names, elements) = (try keys.elements(), try values.elements())
        guard names.count == elements.count else { throw try damaged() }
        var entries: [(key: [UInt8], value: ListElement)] = []
        entries.reserveCapacity(names.count)
        for (name, element) in zip(names, elements) {
            guard case .bytes(let key) = name else { throw try damaged() }
            entries.append((key, element))
        }
        return entries
    }

    private func damaged() throws(StorageError) -> StorageError {
        values.column.damaged(try values.column.pages.transaction())
    }
}
