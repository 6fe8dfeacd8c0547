// Values copied out of the map, for callers that keep them longer.
extension TableReader {
    /// Returns a string, or nil as for ``int(_:_:)``.
    ///
    /// Invalid UTF-8 bytes are replaced by U+FFFD.
    @usableFromInline
    package func string(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> String? {
        try withBytes(column, key) { span in
            span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Returns the bytes of a string, of data or of a fixed-size value, or nil as for ``int(_:_:)``.
    package func bytes(_ column: ColumnID, _ key: ObjectKey) throws(StorageError) -> [UInt8]? {
        try withBytes(column, key) { span in
            span.withUnsafeBytes { Array($0) }
        }
    }
}
