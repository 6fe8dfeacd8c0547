import LMDBStorage

/// What goes wrong in the file, for the modules above: they do not see LMDBStorage itself.
public typealias StorageError = LMDBStorage.StorageError

/// A place in the line of those who wait for a file's write lock without keeping their thread.
public typealias WriteTurn = LMDBStorage.WriteTurn
