import LMDBStorage

/// What goes wrong in the file, for the modules above: they do not see LMDBStorage itself.
package typealias StorageError = LMDBStorage.StorageError

/// A position in the queue for a file's write lock that does not block its thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
