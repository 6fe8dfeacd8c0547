import ColumnStorage

/// An object of a store: a handle whose properties are read from the store each time.
///
/// Handles are cheap to copy, and handles of one object are equal. A handle may outlive its object; reading then
/// throws. A handle is confined to the store's thread.
public struct LiveObject {
    /// The store, or the frozen view, from which the handle reads.
    package let source: ObjectSource
    /// The object's class at the time when the handle was created.
    public let classSchema: ClassSchema
    /// The object key.
    package let key: ObjectKey

    init(_ source: ObjectSource, _ classSchema: ClassSchema, _ key: ObjectKey) {
        self.source = source
        self.classSchema = classSchema
        self.key = key
    }

    /// A reference to the object, as stored in links and used in comparisons.
    public var reference: ObjectReference {
        ObjectReference(table: classSchema.table, key: key)
    }

    /// Whether the object exists in the version that the handle reads; false if the file is damaged there.
    public var isValid: Bool {
        guard source.isOpen else { return false }
        if let (store, reader) = source.tracked {
            reader.recordRead(of: store, existenceOf: reference)
        }
        return (try? source.view.isPresent(reference)) ?? false
    }

    /// Returns the value of a property.
    ///
    /// Throws `unknown_property`, `invalid_object` for a deleted object, `closed`, `wrong_thread`.
    public func value(_ name: String) throws -> Value {
        let (classSchema, property) = try current(name)
        source.recordRead(classSchema, key, property.isBacklinks ? nil : property.column)
        return try source.view.value(property, of: key, in: classSchema)
    }

    /// Sets a property in the open write transaction.
    ///
    /// Setting an equal value counts as a change.
    ///
    /// Throws `not_in_write`, `unknown_property`, `type_mismatch`, `missing_value`,
    /// `invalid_object`, `frozen`, `invalid_argument` for a primary key.
    public func set(_ name: String, _ value: Value) throws {
        let (classSchema, property) = try current(name)
        let writer = try source.writableStore()
            .writer(changing: property, of: key, in: classSchema)
        try writer.set(property, of: key, in: classSchema, to: value)
    }

    /// Sets a list property to links to objects of one class.
    ///
    /// This is a fast form of ``set(_:_:)-(String,Value)`` without a ``Value`` for each link. Returns false, without
    /// any change, if `property` is not a list of links to `target` or if one of the objects was deleted; the general
    /// form then throws the error.
    ///
    /// Throws `not_in_write`, `invalid_object` for a deleted object, `frozen`, `closed`, `wrong_thread`.
    package func set(
        _ property: Property, links: [ObjectKey], to target: ClassSchema
    ) throws -> Bool {
        let view = try source.openView()
        guard let latest = view.schema.find(table: classSchema.table),
            latest === classSchema || latest.properties.contains(property),
            property.collection == .list,
            property.type == .object, !target.isEmbedded,
            view.schema.target(of: property)?.table == target.table
        else { return false }
        let writer = try source.writableStore()
            .writer(changing: property, of: key, in: classSchema)
        return try writer.set(property, of: key, in: latest, to: links, of: target)
    }

    /// Returns the list in a list property.
    ///
    /// Throws `type_mismatch` if the property is not a list, `invalid_object` for a deleted object.
    public func list(_ name: String) throws -> LiveList {
        LiveList(try collection(name, .list))
    }

    /// Returns the list in a property of the object's class, without a check that the object exists.
    package func list(in property: Property) -> LiveList { LiveList(header(of: property)) }

    /// Returns the set in a set property.
    ///
    /// Throws `type_mismatch` if the property is not a set, `invalid_object` for a deleted object.
    public func set(_ name: String) throws -> LiveSet {
        LiveSet(try collection(name, .set))
    }

    /// Returns the map in a map property.
    ///
    /// Throws `type_mismatch` if the property is not a map, `invalid_object` for a deleted object.
    public func map(_ name: String) throws -> LiveMap {
        LiveMap(try collection(name, .map))
    }

    private func collection(_ name: String, _ kind: CollectionKind) throws -> CollectionHeader {
        let (classSchema, property) = try current(name)
        guard property.collection == kind else {
            throw StoreError(
                .typeMismatch,
                "'\(classSchema.name).\(name)' is \(property.typeName), not a \(kind.name)")
        }
        guard isValid else { throw StoreError.deleted(classSchema.name) }
        return CollectionHeader(
            source: source, classSchema: classSchema, property: property, owner: key)
    }

    /// Returns a property and its class in the current schema, which may have changed since the handle was created.
    private func current(_ name: String) throws -> (ClassSchema, Property) {
        let view = try source.openView()
        // A removed class has no objects, so the caller throws for the missing object.
        let latest = view.schema.find(table: classSchema.table) ?? classSchema
        return (latest, try latest.requireProperty(name))
    }
}

extension LiveObject: Hashable {
    /// Returns whether both handles refer to the same object of the same store or frozen version.
    public static func == (left: LiveObject, right: LiveObject) -> Bool {
        left.reference == right.reference && left.source.isSame(as: right.source)
    }

    /// Hashes the class and the key of the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(reference)
    }
}
