import LMDBStorage

/// What goes wrong in the file, for the modules above: they do not see LMDBStorage itself.
public typealias StorageError = LMDBStorage.StorageError
