import ColumnStorage

/// Changes a property that owns embedded objects: creates them from values, and deletes those that the property no
/// longer contains.
///
/// Creating an object may update other objects whose keys are in its values, including the owner. Every change
/// therefore creates the new objects first and then reads the property.
struct EmbeddedWriter {
    let writer: ObjectWriter
    let property: Property
    let classSchema: ClassSchema
    let target: ClassSchema
    let creation: ObjectCreation
    let mode: UpdateMode

    /// Creates a writer; nil for a property that cannot own objects.
    ///
    /// `owner` is the object that receives the embedded objects, if it exists already; `depth` is the number of objects
    /// around it in the values that are being stored.
    init?(
        _ writer: ObjectWriter, _ property: Property, _ classSchema: ClassSchema,
        of owner: ObjectKey? = nil, mode: UpdateMode = .error, depth: Int = 0
    ) throws {
        guard writer.owns(property), let target = writer.view.schema.target(of: property)
        else { return nil }
        self.writer = writer
        self.property = property
        self.classSchema = classSchema
        self.target = target
        self.mode = mode
        let around =
            try owner.map { try writer.view.embeddingDepth(of: $0, in: classSchema) } ?? 0
        creation = ObjectCreation(writer, mode: mode, depth: max(depth, around) + 1)
    }

    private var rows: TableReader { get throws { try writer.store.view.table(classSchema) } }

    /// Sets the property to nil, to an object created from values, or to a list or map of such objects.
    ///
    /// Mode "modified" changes existing objects in place; other modes replace them.
    func set(_ value: Value, of owner: ObjectKey) throws {
        switch (property.collection, value) {
        case (nil, _): try setLink(value, of: owner)
        case (.map, .dictionary(let entries)): try setMap(entries, of: owner)
        case (_, .list(let elements)): try setList(elements, of: owner)
        default: break
        }
    }

    private func setLink(_ value: Value, of owner: ObjectKey) throws {
        if mode == .modified, let old = try rows.link(property.column, owner), !value.isObject,
            value != .null
        {
            return try creation.update(old, target, with: value)
        }
        let new: ObjectKey?
        switch value {
        case .null: new = nil
        case .object(let reference):
            guard try reference == rows.link(property.column, owner).map(reference(to:)) else {
                throw owned()
            }
            new = reference.key
        default: new = try creation.create(target, value)
        }
        try checkOwner(owner)
        let old = try rows.link(property.column, owner)
        if mode == .modified, new == old { return }
        writer.session.set(classSchema.table, property.column, owner, link: new)
        if let old, old != new { try writer.deleteTree(reference(to: old)) }
    }

    private func setList(_ elements: [Value], of owner: ObjectKey) throws {
        if mode == .modified, !elements.contains(where: \.isObject) {
            return try updateList(elements, of: owner)
        }
        var movable = try Set(Self.keys(in: property, of: owner, rows))
        let new = try make(elements) { reference in
            // An object of this list may be used again, also at another index, but only once.
            guard reference.table == target.table, movable.remove(reference.key) != nil else {
                throw owned()
            }
            return reference.key
        }
        try checkOwner(owner)
        for key in new { try writer.checkPresent(key, in: target) }
        let removed = try Set(Self.keys(in: property, of: owner, rows)).subtracting(new)
        let list = try writer.session.list(classSchema.table, property.column, owner)
        try StoreError.wrapping { () throws(StorageError) in
            try list.removeAll()
            try list.append(contentsOf: new.map { .int($0.rawValue) })
        }
        for key in removed.sorted() { try writer.deleteTree(reference(to: key)) }
    }

    private func updateList(_ elements: [Value], of owner: ObjectKey) throws {
        for (index, value) in elements.enumerated() {
            guard let key = try key(at: index, of: owner) else { break }
            try creation.update(key, target, with: value)
        }
        let count = try rows.listCount(property.column, owner)
        if elements.count > count {
            let created = try make(Array(elements[count...])) { _ in throw owned() }
            try checkOwner(owner)
            let list = try writer.session.list(classSchema.table, property.column, owner)
            try StoreError.wrapping(list.append(contentsOf: created.map { .int($0.rawValue) }))
        }
        let old = try Self.keys(in: property, of: owner, rows)
        let list = try writer.session.list(classSchema.table, property.column, owner)
        for index in (elements.count..<max(elements.count, old.count)).reversed() {
            try StoreError.wrapping(list.remove(at: index))
            try writer.deleteTree(reference(to: old[index]))
        }
    }

    private func key(at index: Int, of owner: ObjectKey) throws -> ObjectKey? {
        let element = try rows.list(property.column, owner)?.element(at: index)
        guard case .int(let key)? = element else { return nil }
        return ObjectKey(rawValue: key)
    }

    /// Throws if creating a nested object has removed the owner, which can happen only to an embedded owner.
    func checkOwner(_ owner: ObjectKey) throws {
        if classSchema.isEmbedded { try writer.checkPresent(owner, in: classSchema) }
    }

    /// Creates an object from one value; returns nil for nil.
    func make(_ value: Value) throws -> ObjectKey? {
        switch value {
        case .null: nil
        case .object: throw owned()
        default: try creation.create(target, value)
        }
    }

    /// Creates objects from values; `keep` returns the key of an element that is an object already.
    func make(
        _ values: [Value], keeping keep: (ObjectReference) throws -> ObjectKey
    ) throws -> [ObjectKey] {
        try values.map { value in
            if case .object(let reference) = value { return try keep(reference) }
            return try creation.create(target, value)
        }
    }

    /// Returns the error for an object that already has a parent.
    func owned() -> StoreError {
        StoreError(
            .invalidArgument,
            "property '\(property.name)' of '\(classSchema.name)' cannot take a '\(target.name)' that "
                + "belongs to another property: an embedded object has one parent; to copy it, assign a table "
                + "of its values")
    }

    func reference(to key: ObjectKey) -> ObjectReference {
        ObjectReference(table: target.table, key: key)
    }

    /// Returns the embedded objects in the property of an object.
    func children(of owner: ObjectKey) throws -> [ObjectReference] {
        try Self.keys(in: property, of: owner, writer.store.view.table(classSchema)).map(reference)
    }

    /// Returns the keys of the embedded objects in a property of an object.
    static func keys(
        in property: Property, of owner: ObjectKey, _ rows: TableReader
    ) throws -> [ObjectKey] {
        guard property.collection != nil else {
            return try rows.link(property.column, owner).map { [$0] } ?? []
        }
        return try rows.linkedKeys(property.column, owner)
    }
}

extension ObjectWriter {
    /// Deletes an object with the objects embedded in it, and those that only it owns; see ``TreeDeletion``.
    func deleteTree(_ root: ObjectReference) throws {
        var deletion = TreeDeletion(self)
        try deletion.delete([root])
    }
}

extension Value {
    var isObject: Bool {
        if case .object = self { true } else { false }
    }
}

// Maps of embedded objects.
extension EmbeddedWriter {
    /// Sets the entries of the map.
    ///
    /// Mode "modified" keeps the objects of other keys and changes existing objects in place; other modes replace all
    /// entries.
    func setMap(_ entries: ValueMap, of owner: ObjectKey) throws {
        if mode == .modified {
            if writer.isExact { try removeEntries(notIn: entries, of: owner) }
            for (key, value) in entries.inByteOrder { try merge(value, key, of: owner) }
            return
        }
        var movable = try Set(children(of: owner))
        let named = entries.inByteOrder.filter { $0.value != .null }
        let created = try make(named.map(\.value)) { reference in
            // An object of this map may be used again, also under another key, but only once.
            guard movable.remove(reference) != nil else { throw owned() }
            return reference.key
        }
        try checkOwner(owner)
        for key in created { try writer.checkPresent(key, in: target) }
        let kept = Set(created)
        let removed = try children(of: owner).filter { !kept.contains($0.key) }
        let map = try writer.session.map(classSchema.table, property.column, owner)
        let keys = Dictionary(
            zip(named.map { TextKey($0.key) }, created), uniquingKeysWith: { first, _ in first })
        try StoreError.wrapping { () throws(StorageError) in
            try map.removeAll()
            for (key, _) in entries.inByteOrder {
                let element = keys[TextKey(key)].map { ListElement.int($0.rawValue) } ?? .null
                try map.set(element, for: Array(key.utf8))
            }
        }
        for child in removed { try writer.deleteTree(child) }
    }

    private func removeEntries(notIn entries: ValueMap, of owner: ObjectKey) throws {
        let map = try writer.session.map(classSchema.table, property.column, owner)
        for entry in try StoreError.wrapping(map.reader.entries()) {
            let key = String(decoding: entry.key, as: UTF8.self)
            guard entries[key] == nil else { continue }
            let old = try child(key, of: owner)
            _ = try StoreError.wrapping(map.remove(entry.key))
            if let old { try writer.deleteTree(old) }
        }
    }

    private func merge(_ value: Value, _ key: String, of owner: ObjectKey) throws {
        if let old = try child(key, of: owner), value != .null {
            if value == .object(old) { return }
            if !value.isObject { return try creation.update(old.key, target, with: value) }
        }
        let created = try make(value)
        try checkOwner(owner)
        let old = try child(key, of: owner)
        let map = try writer.session.map(classSchema.table, property.column, owner)
        try StoreError.wrapping { () throws(StorageError) in
            _ = try map.set(created.map { .int($0.rawValue) } ?? .null, for: Array(key.utf8))
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

extension StoreView {
    /// Returns the object that contains an embedded one, and the column that leads there; nil for other objects.
    func owner(of embedded: ObjectReference) throws -> (object: ObjectReference, column: ColumnID)?
    {
        guard schema.find(table: embedded.table)?.isEmbedded == true else { return nil }
        for source in schema.links(to: embedded.table) {
            let owners = try table(source.classSchema)
                .sources(of: embedded.key, through: source.property.column)
            if let key = owners.first {
                let owner = ObjectReference(table: source.classSchema.table, key: key)
                return (owner, source.property.column)
            }
        }
        return nil
    }

    /// Returns the number of objects around an embedded one; 0 for an object that is not embedded.
    ///
    /// Takes one index lookup for each of these objects. Stops counting beyond the allowed depth.
    func embeddingDepth(of key: ObjectKey, in classSchema: ClassSchema) throws -> Int {
        var object = ObjectReference(table: classSchema.table, key: key)
        var depth = 0
        while depth <= ObjectCreation.deepestNesting, let owner = try owner(of: object) {
            object = owner.object
            depth += 1
        }
        return depth
    }
}
