import LMDBStorage

extension [UInt8] {
    /// Calls `body` with the bytes of the array; unlike `withUnsafeBytes`, with typed errors.
    func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try withUnsafeBufferPointer { buffer throws(StorageError) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}
