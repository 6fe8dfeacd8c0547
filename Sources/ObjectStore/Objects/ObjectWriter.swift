import ColumnStorage

/// Changes objects inside the open write transaction of a store; see ``Store/writer(changing:)``.
package struct ObjectWriter {
    let store: Store
    let session: WriteSession
    /// The data by another schema than that of the store.
    private let otherView: StoreView?
    /// Whether the mode `modified` makes values identical to the new ones: it also sets equal values in another form, such
    /// as 1.50 for 1.5, and removes the entries of maps that are not in the new values.
    var isExact = false

    init(_ store: Store, _ session: WriteSession) {
        self.init(store, session, nil)
    }

    private init(_ store: Store, _ session: WriteSession, _ otherView: StoreView?) {
        self.store = store
        self.session = session
        self.otherView = otherView
    }

    /// Returns a writer of objects by one of the schemas of the file.
    func using(_ schema: Schema) -> ObjectWriter {
        guard schema !== store.view.schema else { return self }
        return ObjectWriter(
            store, session,
            StoreView(schema: schema, snapshot: store.view.snapshot, isFrozen: false))
    }

    /// The data, by the schema of the writer.
    var view: StoreView { otherView ?? store.view }

    /// Whether it uses the schema of the store.
    var usesStoreSchema: Bool { otherView == nil }

    /// Throws `invalid_object` for a deleted object.
    func checkPresent(_ key: ObjectKey, in classSchema: ClassSchema) throws {
        guard try store.view.table(classSchema).isPresent(key) else {
            throw StoreError.deleted(classSchema.name)
        }
    }

    /// Throws `invalid_object` for a deleted object, and `invalid_argument` for a property that cannot be set.
    package func checkSettable(
        _ property: Property, of key: ObjectKey, in classSchema: ClassSchema
    ) throws {
        try checkPresent(key, in: classSchema)
        try checkAssignable(property, classSchema)
    }

    /// Sets one property of an object, after conversion and validation.
    ///
    /// Setting an equal value counts as a change. `property` and `classSchema` belong to the current schema. Throws
    /// `type_mismatch`, `missing_value`, `invalid_object` for a deleted object, and `invalid_argument` for a primary
    /// key.
    package func set(
        _ property: Property, of key: ObjectKey, in classSchema: ClassSchema, to value: Value
    ) throws {
        try checkSettable(property, of: key, in: classSchema)
        let converted = try ValueConversion.stored(value, property, classSchema)
        if owns(property) {
            return try atomically {
                try EmbeddedWriter(self, property, classSchema, of: key)?.set(converted, of: key)
            }
        }
        let resolved = try ObjectCreation(self).resolveLinks(converted, property, classSchema)
        try write(resolved, to: property, of: key, in: classSchema)
    }

    /// Sets a list of links to objects of `target`; returns false, without any change, if one of them was deleted.
    func set(
        _ property: Property, of key: ObjectKey, in classSchema: ClassSchema,
        to links: [ObjectKey], of target: ClassSchema
    ) throws -> Bool {
        try checkPresent(key, in: classSchema)
        let targets = try store.view.table(target)
        for link in links where try !targets.isPresent(link) { return false }
        try StoreError.wrapping { () throws(StorageError) in
            let list = try session.list(classSchema.table, property.column, key)
            try list.removeAll()
            try list.append(links: links)
        }
        return true
    }

    /// Returns whether the objects in a property are embedded in its object.
    func owns(_ property: Property) -> Bool {
        property.type == .object && view.schema.target(of: property)?.isEmbedded == true
    }

    func checkAssignable(_ property: Property, _ classSchema: ClassSchema) throws {
        if property.isPrimary, !store.isMigrating {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name).\(property.name)' is the primary key and cannot change; "
                    + "create another object instead")
        }
        if property.isBacklinks {
            throw StoreError(
                .invalidArgument,
                "'\(classSchema.name).\(property.name)' is a backlinks property and cannot be set; "
                    + "change \(property.typeName.dropFirst(10)) instead")
        }
    }

    /// Stores a converted value whose links have been resolved.
    func write(
        _ value: Value, to property: Property, of key: ObjectKey, in classSchema: ClassSchema
    ) throws {
        let table = classSchema.table
        let column = property.column
        if property.type == .mixed, property.isSingle, value != .null {
            return session.set(table, column, key, bytes: MixedCoding.encode(value))
        }
        switch value {
        case .null where property.type == .object: session.set(table, column, key, link: nil)
        case .null: session.setNull(table, column, key)
        case .bool(let flag): session.set(table, column, key, bool: flag)
        case .int(let number): session.set(table, column, key, int: number)
        case .float(let number): session.set(table, column, key, float: number)
        case .double(let number): session.set(table, column, key, double: number)
        case .string(let text):
            session.set(table, column, key, string: text)
        case .data(let bytes): session.set(table, column, key, bytes: bytes)
        case .date(let moment): session.set(table, column, key, int: moment.microseconds)
        case .fixed(let value): session.set(table, column, key, bytes: value.bytes)
        case .decimal(let number): session.set(table, column, key, bytes: number.bytes)
        case .object(let reference): session.set(table, column, key, link: reference.key)
        case .list(let values):
            // The elements of a set are already sorted.
            try StoreError.wrapping { () throws(StorageError) in
                let list = try session.list(table, column, key)
                try list.removeAll()
                try list.append(contentsOf: values.map { $0.listElement(of: property) })
            }
        case .dictionary(let entries):
            // Nested objects have been created before, so a dictionary is a map here.
            try StoreError.wrapping(session.map(table, column, key).removeAll())
            try merge(entries, into: property, of: key, in: classSchema)
        }
    }

    /// Sets entries of a map, whose values have been converted and resolved; keeps the other entries.
    func merge(
        _ entries: ValueMap, into property: Property, of key: ObjectKey,
        in classSchema: ClassSchema
    ) throws {
        try StoreError.wrapping { () throws(StorageError) in
            let map = try session.map(classSchema.table, property.column, key)
            for (name, value) in entries.inByteOrder {
                try map.set(value.listElement(of: property), for: Array(name.utf8))
            }
        }
    }

    /// Deletes an object.
    ///
    /// Links to the object become nil, lists and sets lose these elements, and maps keep the keys with nil. Embedded
    /// objects and those that only the object owns are deleted too; other linked objects are kept.
    func delete(_ key: ObjectKey, in classSchema: ClassSchema) throws {
        try checkPresent(key, in: classSchema)
        guard store.fileSchema.owns(from: classSchema.table) else {
            let view = store.view
            view.recordChange(of: key, in: classSchema.table)
            return try StoreError.wrapping { () throws(StorageError) in
                try session.delete(classSchema.table, key) {
                    view.recordChange(of: $1, in: $0, $2)
                }
            }
        }
        try deleteTree(ObjectReference(table: classSchema.table, key: key))
    }
}

/// An operation of several changes that leaves nothing if it fails, such as the creation of a graph of objects.
///
/// The objects that it has created are deleted again. A savepoint before the first change of another object restores
/// everything else; an operation that only creates objects needs none.
final class WriteOperation {
    private let session: WriteSession
    private var created: [ObjectReference] = []
    /// The first of the created objects, as far as ``willChange(_:)`` has needed them.
    private var known: Set<ObjectReference> = []
    private var savepoint: (state: Savepoint, createdCount: Int)?

    init(_ session: WriteSession) { self.session = session }

    /// Records an object that was created.
    func didCreate(_ reference: ObjectReference) { created.append(reference) }

    /// Prepares the rollback of changes to an object.
    func willChange(_ reference: ObjectReference) throws {
        guard savepoint == nil else { return }
        known.formUnion(created[known.count...])
        assert(known.count == created.count, "an operation creates each object once")
        guard !known.contains(reference) else { return }
        let state = try StoreError.wrapping(session.beginSavepoint())
        savepoint = (state, created.count)
    }

    /// Keeps the changes.
    func end() { if savepoint != nil { session.endSavepoint() } }

    /// Reverts the changes.
    func rollBack(_ writer: ObjectWriter) throws {
        if let savepoint {
            defer { session.endSavepoint() }
            try StoreError.wrapping(session.rollBack(to: savepoint.state))
            created.removeLast(created.count - savepoint.createdCount)
        }
        for reference in created.reversed() { try writer.deleteTree(reference) }
    }
}

extension ObjectWriter {
    /// Runs an operation that changes nothing if it throws.
    ///
    /// A nested operation is a part of the outer one.
    func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        if store.operation != nil { return try body() }
        let operation = WriteOperation(session)
        store.operation = operation
        defer { store.operation = nil }
        do {
            let result = try body()
            operation.end()
            return result
        } catch {
            if store.view.snapshot.write === session {
                // because: a write that cannot be restored fails at its commit, and the caller needs the first error.
                try? operation.rollBack(self)
                store.didRevertChanges()
            }
            throw error
        }
    }
}

extension Store {
    /// Runs an operation in the open write that changes nothing if it throws.
    ///
    /// Throws `not_in_write`, and the errors of `body`.
    package func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        try writer(changing: "the store").atomically(body)
    }
}

/// The effect of creating an object whose primary key exists already.
public enum UpdateMode: String, Sendable, CaseIterable {
    /// Creation throws `duplicate_key`.
    case error
    /// The given values are set on the existing object, including equal ones.
    case all
    /// Only the given values that differ are set on the existing object.
    case modified
}
