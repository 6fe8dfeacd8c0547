import LMDBStorage

// Copies of whole lists. Unreadable data is recorded in the snapshot's `damage` and counts as empty.
extension TableReader {
    /// Returns the rows in a list of links, in its order; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the length of the list.
    package func linkedKeys(_ column: ColumnID, _ key: ObjectKey) -> [ObjectKey] {
        copy(column, key) { list in try list.keys() }
    }

    /// Returns the elements of a list or a set in its order, or the values of a map in the order of its keys.
    ///
    /// The result is empty for a missing row and another kind of column. Takes linear time in the length of the list.
    package func listElements(_ column: ColumnID, _ key: ObjectKey) -> [ListElement] {
        copy(column, key) { list in try list.elements() }
    }

    /// Returns the entries of a map in byte order of the keys; empty for a missing row and another kind of column.
    ///
    /// Takes linear time in the size of the map.
    package func mapEntries(
        _ column: ColumnID, _ key: ObjectKey
    ) -> [(key: String, value: ListElement)] {
        copy(column, key) { _ in
            try map(column, key)?.entries().map {
                (String(decoding: $0.key, as: UTF8.self), $0.value)
            } ?? []
        }
    }

    private func copy<Element>(
        _ column: ColumnID, _ key: ObjectKey, _ body: (ListReader) throws -> [Element]
    ) -> [Element] {
        guard let list = list(column, key) else { return [] }
        do {
            return try body(list)
        } catch let error as StorageError {
            source.note(error)
        } catch {
            source.noteDamage("list of row \(key.rawValue) in table \(id.rawValue)")
        }
        return []
    }
}
