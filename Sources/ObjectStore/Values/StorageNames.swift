import ColumnStorage

// The names of storage types in the store's signatures, so that a program needs one import.

/// The key of an object in its class: stable, ascending with creation, never used again.
@usableFromInline
package typealias ObjectKey = ColumnStorage.ObjectKey

/// The table that stores the objects of a class.
@usableFromInline
package typealias TableID = ColumnStorage.TableID

/// The column that stores a property.
package typealias ColumnID = ColumnStorage.ColumnID

/// The kind of collection that a property holds: a list, a set or a map.
public typealias CollectionKind = ColumnStorage.CollectionKind

/// The rows of one class as a snapshot sees them: typed reads by key, without intermediate values.
package typealias TableReader = ColumnStorage.TableReader
