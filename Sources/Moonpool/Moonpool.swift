// The object store for Swift programs.
//
// This module is the public face of the store: it re-exports the public types of `ObjectStore` and of the modules below
// it that their signatures name. All other declarations of the package are visible inside the package only.
// `Tests/MoonpoolTests/Moonpool.symbols.txt` lists what a program sees.

@_exported import ObjectStore

@_exported import enum ColumnStorage.CollectionKind
@_exported import struct Decimals.DecimalValue
