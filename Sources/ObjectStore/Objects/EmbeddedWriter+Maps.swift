import ColumnStorage

// Maps of embedded objects.
extension EmbeddedWriter {
    /// Gives the map other entries.
    ///
    /// With the mode "modified" keys that are not named keep their objects, and objects that are there are
    /// changed in place; else all are replaced.
    func setMap(_ entries: [String: Value], of owner: ObjectKey) throws {
        let map = writer.session.map(classSchema.table, property.column, owner)
        let old = children(of: owner)
        if mode == .modified {
            for (key, value) in sorted(entries) { try merge(value, key, map) }
            return
        }
        var left = Set(old)
        let named = sorted(entries).filter { $0.value != .null }
        let made = try make(named.map(\.value)) { reference in
            // What is in the map already may stay, under another key too, but only once.
            guard left.remove(reference) != nil else { throw owned() }
            return reference.key
        }
        let keys = Dictionary(
            zip(named.map(\.key), made), uniquingKeysWith: { first, _ in first })
        try StoreError.wrapping { () throws(StorageError) in
            try map.removeAll()
            for (key, _) in sorted(entries) {
                let element = keys[key].map { ListElement.int($0.rawValue) } ?? .null
                try map.set(element, for: Array(key.utf8))
            }
        }
        for child in old where left.contains(child) { try writer.deleteTree(child) }
    }

    private func merge(_ value: Value, _ key: String, _ map: MapEditor) throws {
        let bytes = Array(key.utf8)
        let found = try StoreError.wrapping { () throws(StorageError) in
            try map.reader.value(bytes)
        }
        var old: ObjectReference?
        if case .int(let child)? = found { old = reference(to: ObjectKey(rawValue: child)) }
        if let old, value == .object(old) { return }
        if let old, value != .null, !value.isObject {
            return try creation.update(old.key, target, with: value)
        }
        let made = try make(value)
        try StoreError.wrapping { () throws(StorageError) in
            _ = try map.set(made.map { .int($0.rawValue) } ?? .null, for: bytes)
        }
        if let old { try writer.deleteTree(old) }
    }

    private func sorted(_ entries: [String: Value]) -> [(key: String, value: Value)] {
        entries.sorted { $0.key.precedesInBytes($1.key) }.map { ($0.key, $0.value) }
    }
}
