import LMDBStorage

/// The errors of the file, for modules above that do not import LMDBStorage.
package typealias StorageError = LMDBStorage.StorageError

/// The reader and the writer of encoded bytes.
package typealias ByteReader = LMDBStorage.ByteReader
package typealias ByteWriter = LMDBStorage.ByteWriter
package typealias DamagedEncoding = LMDBStorage.DamagedEncoding

/// A position in the queue for a file's write lock, which does not block a thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
