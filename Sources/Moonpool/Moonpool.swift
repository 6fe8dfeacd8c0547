@_exported import ObjectStore

@_exported import enum ColumnStorage.CollectionKind
/// The object store for Swift programs.
///
/// This module is the public face of the store: it re-exports the public types of `ObjectStore`. All other
/// declarations of the package are visible inside of the package only.
@_exported import struct Decimals.DecimalValue
