import ColumnStorage

/// A handle of the map in a map property of an object, which reads and changes the map in place.
///
/// Keys are strings in byte order. A handle is confined to the store's thread.
public struct LiveMap: LiveCollection {
    package let header: CollectionHeader

    init(_ header: CollectionHeader) { self.header = header }

    /// Returns the value of a key; nil if the map does not have the key, `.null` for a key without a value.
    ///
    /// Takes a binary search. Throws `invalid_object` if the owner was deleted.
    public func value(forKey key: String) throws -> Value? {
        let map = try mapReader()
        return try StoreError.wrapping(map.value(Array(key.utf8))).map(value)
    }

    /// Returns the stored bytes of a key's value; nil if the value is nil or the map does not have the key.
    func bytes(forKey key: String) throws -> [UInt8]? {
        let map = try mapReader()
        let element = try StoreError.wrapping(map.value(Array(key.utf8)))
        if case .bytes(let bytes)? = element { return bytes }
        return nil
    }

    /// Returns all keys, in byte order.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func keys() throws -> [String] { try entries().map(\.key) }

    /// Returns all values, in the order of their keys.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func values() throws -> [Value] { try entries().map(\.value) }

    /// Returns all keys with their values, in byte order of the keys.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    public func entries() throws -> [(key: String, value: Value)] {
        let rows = try rows()
        return try source.view.mapEntries(property, of: owner, in: rows)
    }

    /// Sets the value of a key, and adds the key if it is new.
    ///
    /// `.null` is allowed if the map contains optional values or links. Setting an equal value counts as a change.
    /// Throws `not_in_write`, `type_mismatch`, `missing_value`, `invalid_object`, `frozen`.
    public func set(_ value: Value, forKey key: String) throws {
        let writer = try objectWriter()
        try ValueConversion.checkKey(key, property, classSchema)
        let old = try embedded(forKey: key, writer)
        if let old, value == .object(old) { return }
        let element = try element(value, writer)
        let map = try editor(writer)
        _ = try StoreError.wrapping(map.set(element, for: Array(key.utf8)))
        if let old { try writer.deleteTree(old) }
    }

    /// Sets the bytes of a key's mixed value.
    func set(bytes: [UInt8], forKey key: String) throws {
        let map = try editor(objectWriter())
        _ = try StoreError.wrapping(map.set(.bytes(bytes), for: Array(key.utf8)))
    }

    /// Removes a key with its value; returns false if the map does not have the key.
    ///
    /// A linked object is kept, an embedded one is deleted. Throws `not_in_write`, `invalid_object`, `frozen`.
    @discardableResult  // because: most callers only need the key to be absent afterward
    public func removeValue(forKey key: String) throws -> Bool {
        let writer = try objectWriter()
        let old = try embedded(forKey: key, writer)
        let map = try editor(writer)
        let wasThere = try StoreError.wrapping(map.remove(Array(key.utf8)))
        if let old { try writer.deleteTree(old) }
        return wasThere
    }

    /// Removes all keys; linked objects are kept, embedded ones are deleted.
    ///
    /// Throws `not_in_write`, `invalid_object`, `frozen`.
    public func removeAll() throws {
        let writer = try objectWriter()
        let children = try EmbeddedWriter(writer, property, classSchema)?.children(of: owner) ?? []
        let map = try editor(writer)
        try StoreError.wrapping(map.removeAll())
        for child in children { try writer.deleteTree(child) }
    }

    /// Returns the embedded object of a key, which is deleted with its entry; nil for other objects.
    private func embedded(
        forKey key: String, _ writer: ObjectWriter
    ) throws -> ObjectReference? {
        guard try EmbeddedWriter(writer, property, classSchema) != nil,
            case .object(let reference)? = try value(forKey: key)
        else { return nil }
        return reference
    }

    private func mapReader() throws -> MapReader {
        guard let map = try rows().map(property.column, owner) else {
            throw StoreError.deleted(classSchema.name)
        }
        return map
    }

    private func editor(_ writer: ObjectWriter) throws -> MapEditor {
        try writer.session.map(classSchema.table, property.column, owner)
    }
}
