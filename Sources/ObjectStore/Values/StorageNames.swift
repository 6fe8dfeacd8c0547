import ColumnStorage

// The names of storage types in the signatures of the store, so that a program needs one import.

/// The key of an object in its class: stable, ascending in the order of creation, and never reused.
@usableFromInline
package typealias ObjectKey = ColumnStorage.ObjectKey

/// The table that stores the objects of a class.
@usableFromInline
package typealias TableID = ColumnStorage.TableID

/// The column that stores a property.
package typealias ColumnID = ColumnStorage.ColumnID

/// The kind of collection in a property: a list, a set or a map.
public typealias CollectionKind = ColumnStorage.CollectionKind

/// A reader of the rows of one class in a snapshot, with typed reads by key and without intermediate values.
package typealias TableReader = ColumnStorage.TableReader
