import ColumnStorage

/// The check whether the calling thread should stop its computation.
package typealias Interruption = ColumnStorage.Interruption

/// The errors of the storage, for modules above that do not import it; ``StoreError`` describes them to users.
package typealias StorageError = ColumnStorage.StorageError
