import ColumnStorage

// Maps of embedded objects.
extension EmbeddedWriter {
    /// Sets the entries of the map.
    ///
    /// Mode "modified" keeps the objects of other keys and changes existing objects in place; other modes replace all
    /// entries.
    func setMap(_ entries: ValueMap, of owner: ObjectKey) throws {
        if mode == .modified {
            for (key, value) in entries.inByteOrder { try merge(value, key, of: owner) }
            return
        }
        var movable = try Set(children(of: owner))
        let named = entries.inByteOrder.filter { $0.value != .null }
        let made = try make(named.map(\.value)) { reference in
            // An object of this map may be used again, also under another key, but only once.
            guard movable.remove(reference) != nil else { throw owned() }
            return reference.key
        }
        try checkOwner(owner)
        for key in made { try writer.checkPresent(key, in: target) }
        let kept = Set(made)
        let removed = try children(of: owner).filter { !kept.contains($0.key) }
        let map = try writer.session.map(classSchema.table, property.column, owner)
        let keys = Dictionary(
            zip(named.map { TextKey($0.key) }, made), uniquingKeysWith: { first, _ in first })
        try StoreError.wrapping { () throws(StorageError) in
            try map.removeAll()
            for (key, _) in entries.inByteOrder {
                let element = keys[TextKey(key)].map { ListElement.int($0.rawValue) } ?? .null
                try map.set(element, for: Array(key.utf8))
            }
        }
        for child in removed { try writer.deleteTree(child) }
    }

    private func merge(_ value: Value, _ key: String, of owner: ObjectKey) throws {
        if let old = try child(key, of: owner), value != .null {
            if value == .object(old) { return }
            if !value.isObject { return try creation.update(old.key, target, with: value) }
        }
        let made = try make(value)
        try checkOwner(owner)
        let old = try child(key, of: owner)
        let map = try writer.session.map(classSchema.table, property.column, owner)
        try StoreError.wrapping { () throws(StorageError) in
            _ = try map.set(made.map { .int($0.rawValue) } ?? .null, for: Array(key.utf8))
        }
        if let old { try writer.deleteTree(old) }
    }

    private func child(_ key: String, of owner: ObjectKey) throws -> ObjectReference? {
        let map = try writer.session.map(classSchema.table, property.column, owner)
        let found = try StoreError.wrapping(map.reader.value(Array(key.utf8)))
        guard case .int(let child)? = found else { return nil }
        return reference(to: ObjectKey(rawValue: child))
    }
}
