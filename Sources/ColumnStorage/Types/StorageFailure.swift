import LMDBStorage

/// The errors of the file, for the modules above, which do not import LMDBStorage.
package typealias StorageError = LMDBStorage.StorageError

/// A position in the queue for a file's write lock that does not block its thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
