import ColumnStorage

extension Store {
    /// Creates an object as a copy of another one.
    ///
    /// An object of another store, or of a frozen version, is copied with all objects that it links to, directly or
    /// indirectly, including cycles. `mode` determines what happens to objects whose primary keys already exist in this
    /// store. For an object of this store, only its values and embedded objects are copied, and links keep their
    /// targets; with a mode that updates, the object itself is returned.
    ///
    /// Throws the errors of ``create(_:_:mode:)``; `unknown_class` and `unknown_property` if this store lacks a class
    /// or property of the other one.
    @discardableResult  // because most callers find the object later by a query
    package func create(
        _ className: String, copying object: LiveObject, mode: UpdateMode = .error
    ) throws -> LiveObject {
        let writer = try writer(changing: "'\(className)'")
        let classSchema = try view.schema.require(className)
        _ = try object.source.openView()
        guard object.isValid else { throw StoreError.deleted(object.classSchema.name) }
        if case .store(let owner) = object.source, owner === self {
            if mode != .error, object.classSchema.table == classSchema.table { return object }
            let reader = ObjectReading(object.source)
            return try create(
                className,
                .dictionary(reader.values(of: object.reference, where: { _ in true }) { $0 }),
                mode: mode)
        }
        let key = try writer.atomically {
            try ObjectCopy(writer, object.source, mode).copy(object, as: classSchema)
        }
        return LiveObject(.store(self), classSchema, key)
    }

    /// Creates copies of objects of a frozen version, each once, with all objects that they link to.
    ///
    /// `body` receives the function that copies an object.
    func createCopies(
        from version: StoreView, _ body: ((LiveObject) throws -> Void) throws -> Void
    ) throws {
        let copy = ObjectCopy(try writer(changing: "a copy"), .frozen(version), .all)
        try body { object in
            if copy.creation.references[object.reference] != nil { return }
            let target = try view.schema.require(object.classSchema.name)
            _ = try copy.copy(object, as: target, isNew: true)
        }
    }
}

/// Copies objects of another store, with all objects that they link to.
private struct ObjectCopy: ObjectGraph {
    private let store: Store
    private let reader: ObjectReading
    let creation: GraphCreation<ObjectReference>

    init(_ writer: ObjectWriter, _ source: ObjectSource, _ mode: UpdateMode) {
        store = writer.store
        reader = ObjectReading(source)
        creation = GraphCreation(writer, mode)
    }

    /// Copies an object; `isNew` means that the store has no object without a primary key to update.
    func copy(
        _ root: LiveObject, as classSchema: ClassSchema, isNew: Bool = false
    ) throws -> ObjectKey {
        try creation.create(root.reference, as: classSchema, isNew: isNew, in: self).key
    }

    func classSchema(of node: ObjectReference) throws -> ClassSchema {
        try store.view.schema.require(reader.classSchema(node).name)
    }

    func links(of node: ObjectReference) throws -> [ObjectReference] {
        try reader.links(of: node)
    }

    func values(
        of node: ObjectReference, in classSchema: ClassSchema, holdingLinks: Bool
    ) throws -> Value {
        .dictionary(
            try reader.values(of: node, where: { $0.canHoldLinks == holdingLinks }) {
                creation.references[$0] ?? $0
            })
    }
}

/// Reads objects as values from which equal objects can be created; embedded objects are part of their owner.
struct ObjectReading {
    private let source: ObjectSource
    private let view: StoreView
    private static let deepest = 100

    init(_ source: ObjectSource) {
        self.source = source
        view = source.view
    }

    func classSchema(_ reference: ObjectReference) throws -> ClassSchema {
        guard let found = view.schema.find(table: reference.table) else {
            throw StoreError(.unknownClass, "the class of an object was removed")
        }
        return found
    }

    /// Returns the values of the properties that satisfy `isWanted`, by name; `replace` maps the targets of links.
    func values(
        of reference: ObjectReference, where isWanted: (Property) -> Bool, depth: Int = 0,
        _ replace: (ObjectReference) -> ObjectReference
    ) throws -> ValueMap {
        guard depth <= Self.deepest else {
            throw StoreError(
                .invalidArgument, "more than \(Self.deepest) objects are embedded in each other")
        }
        let classSchema = try classSchema(reference)
        var values: ValueMap = [:]
        for property in classSchema.properties where !property.isBacklinks && isWanted(property) {
            let value = try view.value(property, of: reference.key, in: classSchema)
            values[property.name] = try replaced(value, depth, replace)
        }
        return values
    }

    private func replaced(
        _ value: Value, _ depth: Int, _ replace: (ObjectReference) -> ObjectReference
    ) throws -> Value {
        switch value {
        case .object(let reference):
            guard try classSchema(reference).isEmbedded else { return .object(replace(reference)) }
            return .dictionary(
                try values(of: reference, where: { _ in true }, depth: depth + 1, replace))
        case .list(let elements):
            return .list(try elements.map { try replaced($0, depth, replace) })
        case .dictionary(let entries):
            return .dictionary(try entries.mapValues { try replaced($0, depth, replace) })
        default: return value
        }
    }

    /// Returns the objects that an object links to, itself or through its embedded objects.
    func links(of reference: ObjectReference) throws -> [ObjectReference] {
        var found: [ObjectReference] = []
        _ = try values(of: reference, where: \.canHoldLinks) { linked in
            found.append(linked)
            return linked
        }
        return found
    }
}
