import ColumnStorage

// The names of storage that stand in the store's signatures, so that a program needs one import.

/// The key of an object in its class: stable, ascending with creation, never used again.
public typealias ObjectKey = ColumnStorage.ObjectKey

/// The table that stores the objects of a class.
public typealias TableID = ColumnStorage.TableID

/// The column that stores a property.
public typealias ColumnID = ColumnStorage.ColumnID

/// What kind of collection a property holds: a list, a set or a map.
public typealias CollectionKind = ColumnStorage.CollectionKind

/// The rows of one class as a snapshot sees them: typed reads by key, without intermediate values.
public typealias TableReader = ColumnStorage.TableReader
