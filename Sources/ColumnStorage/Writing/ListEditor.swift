import LMDBStorage

/// An editor of a list, a set or the values of a map of one row inside a write.
///
/// Every change marks the row and column as modified, and updates the number of elements in the row and the index of
/// backlinks. Removing or appending no elements does not mark the row. Positions must be in range: callers check them.
///
/// Appending touches only the last chunk, independent of the length of the list.
package struct ListEditor {
    let session: WriteSession
    let overlay: TableOverlay
    let column: ColumnDefinition
    let key: ObjectKey
    let writer: ListWriter

    /// A reader of the list in its current state.
    package var reader: ListReader { writer.reader }

    /// The number of elements.
    package var count: Int {
        get throws(StorageError) { try overlay.reader.listCount(column.id, key) }
    }

    /// Adds an element at the end.
    package func append(_ element: ListElement) throws(StorageError) {
        try writer.makeSpace()
        try linked(element)
        session.setListCount(overlay, column.id, key, to: try writer.append(element))
    }

    /// Adds elements at the end.
    package func append(contentsOf elements: some Sequence<ListElement>) throws(StorageError) {
        try writer.makeSpace()
        for element in elements { try linked(element) }
        let newCount = try writer.append(contentsOf: elements)
        if try newCount != count { session.setListCount(overlay, column.id, key, to: newCount) }
    }

    /// Adds links at the end.
    package func append(links: [ObjectKey]) throws(StorageError) {
        precondition(column.elementKind == .link, "not a list of links")
        guard !links.isEmpty else { return }
        try writer.makeSpace()
        if let index = overlay.reader.intIndex(column.id) {
            let handle = session.transaction.handle
            for link in links { try index.insert(link.rawValue, key, in: handle) }
        }
        session.setListCount(
            overlay, column.id, key, to: try writer.append(words: links.lazy.map(\.rawValue)))
    }

    /// Inserts an element before the one at a position, or at the end.
    package func insert(_ element: ListElement, at position: Int) throws(StorageError) {
        try writer.makeSpace()
        try linked(element)
        session.setListCount(
            overlay, column.id, key, to: try writer.insert(element, at: position))
    }

    /// Replaces an element.
    package func set(_ element: ListElement, at position: Int) throws(StorageError) {
        try writer.makeSpace()
        try unlinked(try writer.set(element, at: position))
        try linked(element)
        try session.setListCount(overlay, column.id, key, to: count)
    }

    /// Removes an element.
    package func remove(at position: Int) throws(StorageError) {
        try writer.makeSpace()
        try unlinked(try writer.remove(at: position))
        try session.setListCount(overlay, column.id, key, to: count - 1)
    }

    /// Removes a linked row, which occurs `number` times.
    func removeAll(_ target: ObjectKey, number: Int) throws(StorageError) {
        if column.collection == .set { return try removeMember(target.rawValue) }
        let positions = try writer.positions(of: target.rawValue, number: number)
        for position in positions.reversed() {
            try writer.remove(at: position)
            try unlinked(.int(target.rawValue))
        }
        try session.setListCount(overlay, column.id, key, to: count - positions.count)
    }

    /// Sets the links with this code in mixed elements to nil; a set loses these elements.
    func cutLinks(_ code: Int64) throws(StorageError) {
        let elements = try elements()
        for (position, element) in elements.enumerated().reversed() {
            guard case .bytes(let bytes) = element else { continue }
            let left = MixedLinks.cutting(code, in: bytes)
            if left == bytes { continue }
            if left == nil, column.collection == .set {
                try remove(at: position)
            } else {
                try set(left.map(ListElement.bytes) ?? .null, at: position)
            }
        }
    }

    /// Removes a row from a set of links, which is sorted by key.
    private func removeMember(_ key: Int64) throws(StorageError) {
        let position = try reader.partitioningIndex { ($0.word ?? .min) >= key }
        if try reader.int(at: position) == key { try remove(at: position) }
    }

    /// Moves an element so that it is at `target` afterward.
    package func move(from position: Int, to target: Int) throws(StorageError) {
        try writer.makeSpace()
        try writer.move(from: position, to: target)
        try session.setListCount(overlay, column.id, key, to: count)
    }

    /// Exchanges two elements.
    package func swap(_ first: Int, _ second: Int) throws(StorageError) {
        try writer.makeSpace()
        try writer.swap(first, second)
        try session.setListCount(overlay, column.id, key, to: count)
    }

    /// Removes all elements.
    package func removeAll() throws(StorageError) {
        guard try count > 0 else { return }
        if column.elementKind == .link || column.isMixed {
            for element in try elements() { try unlinked(element) }
        }
        try writer.removeAll()
        session.setListCount(overlay, column.id, key, to: 0)
    }

    func elements() throws(StorageError) -> [ListElement] {
        try writer.reader.elements()
    }

    private func linked(_ element: ListElement) throws(StorageError) {
        if column.isMixed { return try linked(element, true) }
        guard column.elementKind == .link, case .int(let target) = element else { return }
        try overlay.reader.intIndex(column.id)?.insert(
            target, key, in: session.transaction.handle)
    }

    private func unlinked(_ element: ListElement) throws(StorageError) {
        if column.isMixed { return try linked(element, false) }
        guard column.elementKind == .link, case .int(let target) = element else { return }
        try overlay.reader.intIndex(column.id)?.remove(
            target, key, in: session.transaction.handle)
    }

    /// Updates the index for the links inside a mixed element that is added or removed.
    private func linked(_ element: ListElement, _ isThere: Bool) throws(StorageError) {
        guard case .bytes(let bytes) = element, let index = overlay.reader.intIndex(column.id)
        else { return }
        let handle = session.transaction.handle
        for target in bytes.withUnsafeBytes({ MixedLinks.codes(in: $0) }) {
            if isThere {
                try index.insert(target, key, in: handle)
            } else {
                try index.remove(target, key, in: handle)
            }
        }
    }
}

/// An editor of a map of one row inside a write.
///
/// Every change marks the row and column as modified, and updates the number of entries in the row and the index of
/// backlinks.
package struct MapEditor {
    private let entries: ListEditor
    private let keys: ListWriter

    init(_ entries: ListEditor, keys: ListWriter) {
        self.entries = entries
        self.keys = keys
    }

    /// A reader of the map in its current state.
    package var reader: MapReader { MapReader(values: entries.reader, keys: keys.reader) }

    /// The number of entries.
    package var count: Int { get throws(StorageError) { try entries.count } }

    /// Sets the value of a key, and returns whether the key is new.
    @discardableResult  // because: most callers only need the value to be set
    package func set(_ element: ListElement, for key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        try keys.makeSpace()
        if isThere {
            try entries.set(element, at: position)
        } else {
            try keys.insert(.bytes(key), at: position)
            try entries.insert(element, at: position)
        }
        return !isThere
    }

    /// Removes a key and its value, and returns whether the key existed.
    @discardableResult  // because: most callers only need the key to be absent afterward
    package func remove(_ key: [UInt8]) throws(StorageError) -> Bool {
        let (position, isThere) = try reader.search(key.span.bytes)
        guard isThere else { return false }
        try keys.makeSpace()
        try keys.remove(at: position)
        try entries.remove(at: position)
        return true
    }

    /// Sets the values with a linked row, which occurs `number` times, to null, and keeps their keys.
    func removeValues(_ target: ObjectKey, number: Int) throws(StorageError) {
        for position in try entries.writer.positions(of: target.rawValue, number: number) {
            try entries.set(.null, at: position)
        }
    }

    /// Removes all entries.
    package func removeAll() throws(StorageError) {
        // The keys are removed together with the values.
        try entries.removeAll()
    }
}
