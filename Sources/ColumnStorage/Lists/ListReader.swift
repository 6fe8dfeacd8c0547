import LMDBStorage

/// A list property of one row, for reading.
///
/// Follows the snapshot that it came from, and in a write sees the write.
///
/// A value of two words; keep it as long as the snapshot. The first read of an element at a version
/// walks the chunks of the list up to it, for a short list or one of the last elements a search; an
/// element of a list of a million then costs two steps of bisection and a load. Everything throws `damaged` for stored bytes that cannot be
/// right and `closed` after the snapshot has been closed.
package struct ListReader {
    let column: ListColumn
    let owner: Int64

    init(_ column: ListColumn, _ owner: ObjectKey) {
        self.column = column
        self.owner = owner.rawValue
    }

    /// The number of elements.
    package var count: Int {
        get throws(StorageError) {
            if let list = column.edited[owner] { return list.count }
            return try column.directory(owner).count
        }
    }

    /// An element; nil when there is none at the position.
    package func element(at position: Int) throws(StorageError) -> ListElement? {
        guard position >= 0 else { return nil }
        if let list = column.edited[owner] {
            guard position < list.count else { return nil }
            let (chunk, offset) = try open(list, position)
            return list.chunks[chunk].content?.element(offset, column.elementKind)
        }
        guard let (chunk, offset) = try locate(position) else { return nil }
        return try element(chunk, offset)
    }

    /// An element as an integer: of bools, ints, dates and links.
    ///
    /// Nil for null, no such position and other kinds.
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

    /// An element as a linked row.
    ///
    /// Nil for null, no such position and other kinds.
    package func key(at position: Int) throws(StorageError) -> ObjectKey? {
        try int(at: position).map { ObjectKey(rawValue: $0) }
    }

    /// An element as a number, also of a list of floats.
    ///
    /// Nil for null, no such position and other kinds.
    package func double(at position: Int) throws(StorageError) -> Double? {
        switch try element(at: position) {
        case .double(let value): value
        case .float(let value): Double(value)
        default: nil
        }
    }

    /// Lends the bytes of an element; nil for null, no such position and other kinds.
    package func withBytes<Result>(
        at position: Int, _ body: (RawSpan) throws -> Result
    ) throws -> Result? {
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
    package func forEach(_ body: (ListElement) throws -> Bool) throws {
        if let list = column.edited[owner] {
            try column.complete(list, owner)
            var chunk = 0
            while chunk < list.chunks.count {
                try column.load(list, owner, chunk)
                // because: it was loaded; a copy, so that `body` may change the list.
                let content = list.chunks[chunk].content!
                for offset in 0..<content.count {
                    guard try body(content.element(offset, column.elementKind)) else { return }
                }
                chunk += 1
            }
            return
        }
        for place in try column.directory(owner).places {
            for offset in 0..<place.chunk.count {
                guard try body(try element(place.chunk, offset)) else { return }
            }
        }
    }

    /// All elements in order.
    package func elements() throws -> [ListElement] {
        var result: [ListElement] = []
        result.reserveCapacity(try count)
        try forEach {
            result.append($0)
            return true
        }
        return result
    }

    /// All elements as integers, in order; nulls are left out.
    ///
    /// Empty for lists of other kinds.
    package func ints() throws -> [Int64] {
        guard column.holdsWords, column.elementKind != .float, column.elementKind != .double
        else { return [] }
        return try words()
    }

    /// All elements as linked rows, in order.
    package func keys() throws -> [ObjectKey] {
        try ints().map { ObjectKey(rawValue: $0) }
    }

    /// All elements as numbers, in order; nulls are left out.
    ///
    /// Empty for lists of other kinds than float and double.
    package func doubles() throws -> [Double] {
        switch column.elementKind {
        case .double: try words().map { Double(bitPattern: UInt64(bitPattern: $0)) }
        case .float:
            try words().map { Double(Float(bitPattern: UInt32(truncatingIfNeeded: $0))) }
        default: []
        }
    }

    /// Returns the first position of an element that is equal, or nil if there is none.
    package func firstIndex(of element: ListElement) throws -> Int? {
        var position = 0
        var found: Int?
        try forEach { candidate in
            if candidate == element {
                found = position
                return false
            }
            position += 1
            return true
        }
        return found
    }

    private func words() throws -> [Int64] {
        var result: [Int64] = []
        if column.edited[owner] != nil {
            try forEach {
                if let word = $0.word { result.append(word) }
                return true
            }
            return result
        }
        let directory = try column.directory(owner)
        result.reserveCapacity(directory.count)
        for place in directory.places {
            let chunk = place.chunk
            for offset in 0..<chunk.count where !chunk.isNull(offset) {
                result.append(chunk.word(offset))
            }
        }
        return result
    }

    private func locate(_ position: Int) throws(StorageError) -> (ListChunk, Int)? {
        guard let place = try column.place(owner, position) else { return nil }
        return (place.chunk, position - place.first)
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

    /// Finds an element of an edited list and loads its chunk.
    private func open(
        _ list: EditedList, _ position: Int
    ) throws(StorageError) -> (chunk: Int, offset: Int) {
        if list.prefix > 0 {
            // The last chunks are known; only what is before them needs the rest.
            if position < list.prefix {
                try column.complete(list, owner)
            } else {
                guard let (chunk, offset) = list.locate(position - list.prefix) else {
                    throw column.damaged(try column.pages.transaction())
                }
                try column.load(list, owner, chunk)
                return (chunk, offset)
            }
        }
        guard let (chunk, offset) = list.locate(position) else {
            throw column.damaged(try column.pages.transaction())
        }
        try column.load(list, owner, chunk)
        return (chunk, offset)
    }
}
