import LMDBStorage

/// The errors of the file, for modules above that do not import LMDBStorage.
@usableFromInline
package typealias StorageError = LMDBStorage.StorageError

/// The reader and the writer of encoded bytes.
package typealias ByteReader = LMDBStorage.ByteReader
package typealias ByteWriter = LMDBStorage.ByteWriter
package typealias DamagedEncoding = LMDBStorage.DamagedEncoding

/// A position in the queue for a file's write lock, which does not block a thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
/// A store as a writer of its file.
package typealias LockUser = LMDBStorage.LockUser
/// A number with which this process uses a file.
package typealias FileMark = LMDBStorage.FileMark

extension StorageError {
    /// The check of an index block's content.
    static let indexBlock = "reading an index block"

    /// Whether a block of an index is damaged.
    var isOfIndex: Bool { code == .damaged && call == Self.indexBlock }
}
