import LMDBStorage

// Reads of the values that were set in the row that is being created.
extension RowWriter {
    private func word(_ column: ColumnID, _ form: UInt8) -> UInt64? {
        guard isSet(column), values[column.rawValue].form == form else { return nil }
        return values[column.rawValue].word
    }

    /// Returns an integer, or a Boolean as 0 or 1.
    package func int(_ column: ColumnID) -> Int64? {
        word(column, Form.word).map { Int64(bitPattern: $0) }
    }

    /// Returns a double.
    package func double(_ column: ColumnID) -> Double? {
        word(column, Form.word).map { Double(bitPattern: $0) }
    }

    /// Returns a float.
    package func float(_ column: ColumnID) -> Float? {
        word(column, Form.float).map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
    }

    /// Returns the target of a link; nil also for a link that was set to nil.
    package func link(_ column: ColumnID) -> ObjectKey? {
        guard let stored = int(column), stored > 0 else { return nil }
        return ObjectKey(rawValue: stored &- 1)
    }

    /// Returns the bytes of a string, of data or of a fixed-size value.
    package func bytes(_ column: ColumnID) -> [UInt8]? {
        guard isSet(column) else { return nil }
        let cell = values[column.rawValue]
        return cell.form == Form.text || cell.form == Form.fixed ? [UInt8](bytes(cell)) : nil
    }

    /// Returns the elements of a collection; nil if the column is not set.
    package func elements(_ column: ColumnID) -> [ListElement]? {
        guard isSet(column), let collection = collection(column) else { return nil }
        return elements(in: collection.contents, collection.kind)
    }

    /// Returns the keys of a map in the order of its elements; nil if the column is not set.
    package func keys(_ column: ColumnID) -> [ListElement]? {
        guard isSet(column), let keys = collection(column)?.keys else { return nil }
        return elements(in: keys, .data)
    }

    private func elements(in contents: Int, _ kind: ColumnKind) -> [ListElement] {
        let cell = values[contents]
        guard cell.form == Form.text,
            let chunk = ListChunk(bytes(cell), words: kind.isStoredAsWord),
            let content = UnpackedChunk(chunk, words: kind.isStoredAsWord)
        else { return [] }
        return (0..<content.count).map { content.element($0, kind) }
    }

    /// Returns whether no row has the value of an indexed column; false for null and if the value is not set.
    package func isNew(_ column: ColumnID) throws(StorageError) -> Bool {
        guard isSet(column) else { return false }
        let cell = values[column.rawValue]
        switch cell.form {
        case Form.word:
            let value = Int64(bitPattern: cell.word)
            guard isUsable, let index = intIndex(column) else {
                return try reader.find(column, int: value) == nil
            }
            return try index.takeUnretainedValue().find(value, in: handle) == nil
        case Form.text, Form.fixed:
            let bytes = bytes(cell)
            guard let index = reader.bytesIndex(column) else {
                return try reader.find(column, bytes: [UInt8](bytes)) == nil
            }
            let found = try reader.read { (transaction) throws(StorageError) in
                try index.find(bytes, in: transaction)
            }
            return (found ?? nil) == nil
        default: return false
        }
    }
}
