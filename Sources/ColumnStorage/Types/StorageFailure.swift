import LMDBStorage

/// What goes wrong in the file, for the modules above: they do not see LMDBStorage itself.
package typealias StorageError = LMDBStorage.StorageError

/// A place in the line of those who wait for a file's write lock without keeping their thread.
package typealias WriteLockTicket = LMDBStorage.WriteLockTicket
