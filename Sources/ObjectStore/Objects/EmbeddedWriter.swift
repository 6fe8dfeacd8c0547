import ColumnStorage

/// Changes a property that owns embedded objects: they are made from values, stay with the property that holds them,
/// and are deleted when it lets go of them.
struct EmbeddedWriter {
    let writer: ObjectWriter
    let property: Property
    let classSchema: ClassSchema
    let target: ClassSchema
    let creation: ObjectCreation
    let mode: UpdateMode

    /// Nil for a property that owns nothing.
    ///
    /// `owner` is the object that is to get what is made, as far as it exists; `depth` tells how many objects are
    /// around that in the values that are being stored.
    init?(
        _ writer: ObjectWriter, _ property: Property, _ classSchema: ClassSchema,
        of owner: ObjectKey? = nil, mode: UpdateMode = .error, depth: Int = 0
    ) {
        guard writer.owns(property), let target = writer.store.view.schema.target(of: property)
        else { return nil }
        self.writer = writer
        self.property = property
        self.classSchema = classSchema
        self.target = target
        self.mode = mode
        let around = owner.map { writer.embeddingDepth(of: $0, in: classSchema) } ?? 0
        creation = ObjectCreation(writer, mode: mode, depth: max(depth, around) + 1)
    }

    private var rows: TableReader { writer.store.view.table(classSchema) }

    /// Gives the property another value: nil, values to make an object of, or a list or a map
    /// of those.
    ///
    /// With the mode "modified" objects that are there are changed in place; else they are replaced.
    func set(_ value: Value, of owner: ObjectKey) throws {
        switch (property.collection, value) {
        case (nil, _): try setLink(value, of: owner)
        case (.map, .dictionary(let entries)): try setMap(entries, of: owner)
        case (_, .list(let elements)): try setList(elements, of: owner)
        default: break
        }
    }

    private func setLink(_ value: Value, of owner: ObjectKey) throws {
        let old = rows.link(property.column, owner)
        let new: ObjectKey?
        switch value {
        case .null: new = nil
        case .object(let reference):
            guard reference == old.map(reference(to:)) else { throw owned() }
            new = old
        default:
            if mode == .modified, let old { return try creation.update(old, target, with: value) }
            new = try creation.create(target, value)
        }
        if mode == .modified, new == old { return }
        writer.session.set(classSchema.table, property.column, owner, link: new)
        if let old, old != new { try writer.deleteTree(reference(to: old)) }
    }

    private func setList(_ elements: [Value], of owner: ObjectKey) throws {
        let old = Self.keys(in: property, of: owner, rows)
        if mode == .modified, !elements.contains(where: \.isObject) {
            return try updateList(elements, old, of: owner)
        }
        var left = Set(old)
        let new = try make(elements) { reference in
            // What is in the list already may stay, at another place too, but only once.
            guard reference.table == target.table, left.remove(reference.key) != nil else {
                throw owned()
            }
            return reference.key
        }
        let list = writer.session.list(classSchema.table, property.column, owner)
        try StoreError.wrapping { () throws(StorageError) in
            try list.removeAll()
            try list.append(contentsOf: new.map { .int($0.rawValue) })
        }
        for key in old where left.contains(key) { try writer.deleteTree(reference(to: key)) }
    }

    private func updateList(
        _ elements: [Value], _ old: [ObjectKey], of owner: ObjectKey
    ) throws {
        for (key, value) in zip(old, elements) { try creation.update(key, target, with: value) }
        let list = writer.session.list(classSchema.table, property.column, owner)
        if elements.count > old.count {
            let made = try make(Array(elements[old.count...])) { _ in throw owned() }
            try StoreError.wrapping { () throws(StorageError) in
                try list.append(contentsOf: made.map { .int($0.rawValue) })
            }
        }
        for index in (elements.count..<max(elements.count, old.count)).reversed() {
            try StoreError.wrapping { () throws(StorageError) in try list.remove(at: index) }
            try writer.deleteTree(reference(to: old[index]))
        }
    }

    /// Makes an object of one value; nil for nil.
    func make(_ value: Value) throws -> ObjectKey? {
        switch value {
        case .null: nil
        case .object: throw owned()
        default: try creation.create(target, value)
        }
    }

    /// Makes objects of values.
    func make(
        _ values: [Value], keeping keep: (ObjectReference) throws -> ObjectKey
    ) throws -> [ObjectKey] {
        try values.map { value in
            if case .object(let reference) = value { return try keep(reference) }
            return try creation.create(target, value)
        }
    }

    /// The error for an object that has a parent already.
    func owned() -> StoreError {
        StoreError(
            .invalidArgument,
            "property '\(property.name)' of '\(classSchema.name)' cannot take a '\(target.name)' that "
                + "belongs to another property: an embedded object has one parent; assign a table "
                + "of its values to make a copy")
    }

    func reference(to key: ObjectKey) -> ObjectReference {
        ObjectReference(table: target.table, key: key)
    }

    /// The objects that the property of an object holds.
    func children(of owner: ObjectKey) -> [ObjectReference] {
        Self.keys(in: property, of: owner, writer.store.view.table(classSchema)).map(reference)
    }

    /// The objects that a property of an object holds.
    static func keys(
        in property: Property, of owner: ObjectKey, _ rows: TableReader
    ) -> [ObjectKey] {
        guard property.collection != nil else {
            return rows.link(property.column, owner).map { [$0] } ?? []
        }
        return rows.linkedKeys(property.column, owner)
    }
}

extension ObjectWriter {
    /// Deletes an object and everything embedded in it, however deep.
    func deleteTree(_ root: ObjectReference) throws {
        let view = store.view
        var pending = [root]
        while let next = pending.popLast() {
            guard view.isPresent(next) else { continue }
            let rows = view.table(next.table)
            for property in view.schema.embeddingProperties(of: next.table) {
                guard let target = view.schema.target(of: property)?.table else { continue }
                pending += EmbeddedWriter.keys(in: property, of: next.key, rows).map {
                    ObjectReference(table: target, key: $0)
                }
            }
            // The parent first: its links are gone then, and need not be searched for the children.
            try StoreError.wrapping { () throws(StorageError) in
                try session.delete(next.table, next.key)
            }
        }
    }
}

extension Value {
    var isObject: Bool {
        if case .object = self { true } else { false }
    }
}
