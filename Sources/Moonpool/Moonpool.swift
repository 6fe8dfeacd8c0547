// The object store for Swift programs: typed models over the engine in `ObjectStore`.
//
// The module re-exports the value types and errors of the engine that its signatures use. All other declarations of the
// package are visible inside the package only. `Tests/MoonpoolTests/Moonpool.symbols.txt` lists the public API.

@_exported import struct Decimals.DecimalValue
@_exported import struct ObjectStore.ObjectIDValue
@_exported import struct ObjectStore.SchemaEvent
@_exported import protocol ObjectStore.StoreConversions
@_exported import struct ObjectStore.StoreError
@_exported import enum ObjectStore.StoreNotification
@_exported import struct ObjectStore.Timestamp
@_exported import struct ObjectStore.UUIDValue
