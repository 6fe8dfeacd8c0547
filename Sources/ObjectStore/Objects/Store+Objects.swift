import ColumnStorage

extension Store {
    /// Creates an object, or updates the one with the same primary key.
    ///
    /// `values` are values by name (`.dictionary`) or in schema order (`.list`); nested values create linked objects.
    /// Throws `not_in_write`, `unknown_class`, `unknown_property`, `type_mismatch`, `missing_value`, `duplicate_key`,
    /// `invalid_object`, `invalid_argument`.
    @discardableResult  // because most callers find the object later by a query
    public func create(
        _ className: String, _ values: Value = .dictionary([:]), mode: UpdateMode = .error
    ) throws -> LiveObject {
        let writer = try writerOfOne(changing: "'\(className)'")
        let classSchema = try view.schema.require(className)
        try checkTopLevel(classSchema)
        let key = try ObjectCreation(writer, mode: mode).create(classSchema, values)
        return LiveObject(.store(self), classSchema, key)
    }

    /// Creates an object from values in schema order, nil for missing ones.
    ///
    /// This is faster than values by name.
    ///
    /// `nestedMode` applies to the objects that nested values describe; by default it equals `mode`. Throws the errors
    /// of ``create(_:_:mode:)``.
    package func create(
        _ classSchema: ClassSchema, positional values: [Value?], mode: UpdateMode = .error,
        nestedMode: UpdateMode? = nil
    ) throws -> ObjectKey {
        let writer = try writerOfOne(changing: "'\(classSchema.name)'")
        try checkTopLevel(classSchema)
        guard view.schema.find(table: classSchema.table) === classSchema else {
            throw StoreError(
                .unknownClass,
                "class '\(classSchema.name)' has changed since it was looked up; look it up again"
            )
        }
        return try ObjectCreation(writer, mode: mode, nestedMode: nestedMode)
            .create(classSchema, positional: values)
    }

    func checkTopLevel(_ classSchema: ClassSchema) throws {
        guard classSchema.isEmbedded else { return }
        throw StoreError(
            .invalidArgument,
            "'\(classSchema.name)' is embedded and cannot be created without a parent; assign its values to "
                + "the owning property")
    }

    /// Sets several properties of an object; all values are checked before the first one is set.
    ///
    /// The mode `modified` skips equal values. The mode also applies to nested values.
    ///
    /// Throws the errors of ``LiveObject/set(_:_:)``.
    public func update(
        _ object: LiveObject, _ values: ValueMap, mode: UpdateMode = .all
    ) throws {
        try update(
            object, values, mode: mode,
            with: writerOfOne(changing: "'\(object.classSchema.name)'"))
    }

    /// Sets the properties whose values are not identical; maps lose their other entries.
    ///
    /// Throws the errors of ``LiveObject/set(_:_:)``.
    package func replace(_ object: LiveObject, with values: ValueMap) throws {
        var writer = try writerOfOne(changing: "'\(object.classSchema.name)'")
        writer.isExact = true
        try update(object, values, mode: .modified, with: writer)
    }

    private func update(
        _ object: LiveObject, _ values: ValueMap, mode: UpdateMode, with writer: ObjectWriter
    ) throws {
        try checkOwn(object)
        let classSchema = view.schema.find(table: object.classSchema.table) ?? object.classSchema
        var given = [Value?](repeating: nil, count: classSchema.properties.count)
        var hasObjects = false
        for (name, value) in values {
            let property = try classSchema.requireProperty(name)
            try writer.checkAssignable(property, classSchema)
            if let position = classSchema.position(of: name) { given[position] = value }
            if property.type == .object, !value.isOnlyLinks { hasObjects = true }
        }
        // Nested values create or change other objects.
        if hasObjects {
            view.recordChange()
        } else {
            view.recordChange(of: object.key, in: classSchema.table)
        }
        try ObjectCreation(writer, mode: mode).update(object.key, classSchema, given)
    }

    /// Deletes an object.
    ///
    /// Links to the object become nil, and lists lose these elements. Embedded objects, and the objects of links with
    /// ``PropertyRules/ownsObjects`` to which no other object links, are deleted too; other linked objects are kept.
    ///
    /// Throws `not_in_write`, `invalid_object` for an object that was deleted or belongs to another store.
    public func delete(_ object: LiveObject) throws {
        let writer = try writerOfOne(changing: "'\(object.classSchema.name)'")
        try checkOwn(object)
        try writer.delete(object.key, in: object.classSchema)
    }

    /// Deletes objects of one class by their keys; skips keys of deleted objects.
    ///
    /// With `keepingOwned`, objects that they own are kept, because the caller deletes each of them; embedded objects
    /// are always deleted. Throws `not_in_write`.
    package func delete(
        _ keys: [ObjectKey], of classSchema: ClassSchema, keepingOwned: Bool = false
    ) throws {
        let writer = try writer(changing: "'\(classSchema.name)'")
        guard !fileSchema.owns(from: classSchema.table) else {
            var deletion = TreeDeletion(writer, keepsOwned: keepingOwned)
            return try deletion.delete(
                keys.map { ObjectReference(table: classSchema.table, key: $0) })
        }
        try StoreError.wrapping(writer.session.delete(classSchema.table, keys))
    }

    /// Deletes all objects of a class, or of all classes.
    ///
    /// Throws `not_in_write`, `unknown_class`.
    public func deleteAll(_ className: String? = nil) throws {
        let writer = try writer(changing: className.map { "'\($0)'" } ?? "the store")
        let classes = try className.map { [try view.schema.require($0)] } ?? view.schema.classes
        for classSchema in classes {
            if className != nil || fileSchema.transition != nil,
                fileSchema.owns(from: classSchema.table)
            {
                let all = Results(.store(self), Query(all: classSchema))
                try delete(all.keys().array, of: classSchema)
            } else {
                try StoreError.wrapping(writer.session.deleteAll(classSchema.table))
            }
        }
    }

    /// Returns all objects of a class as lazy, live results, in the order of their creation.
    ///
    /// Throws `unknown_class`, `closed`, `wrong_thread`.
    public func objects(_ className: String) throws -> Results {
        try check()
        return Results(.store(self), Query(all: try view.schema.require(className)))
    }

    /// Returns a handle of an object by reference, whether or not the object exists; nil if its class does not exist.
    public func object(_ reference: ObjectReference) -> LiveObject? {
        view.schema.find(table: reference.table).map { LiveObject(.store(self), $0, reference.key) }
    }

    private func checkOwn(_ object: LiveObject) throws {
        guard case .store(let owner) = object.source else {
            _ = try object.source.writableStore(); return
        }
        guard owner === self else {
            throw StoreError(
                .invalidObject, "this '\(object.classSchema.name)' belongs to another store")
        }
        guard object.isValid else { throw StoreError.deleted(object.classSchema.name) }
    }
}

extension Value {
    /// Whether the value is a link, a collection of links, or nil.
    fileprivate var isOnlyLinks: Bool {
        switch self {
        case .null, .object: true
        case .list(let elements): elements.allSatisfy(\.isOnlyLinks)
        default: false
        }
    }
}

extension Store {
    /// Sets the function that computes a property of objects created without a value for it; nil removes the function.
    ///
    /// The function is called inside the write, on the store's thread, once for each object, and takes precedence over
    /// the default in the file. The function can read, but an attempt to change or close a store throws
    /// `already_in_write`. If the function throws, the creation fails with the same error. The function applies to this
    /// store only, not to other stores of the file.
    ///
    /// Throws `unknown_class`, `unknown_property`, `invalid_argument` for backlinks.
    package func setDefault(
        of name: String, in className: String, to function: (() throws -> Value)?
    ) throws {
        try setDefault(of: name, in: className, to: function) { $0 }
    }

    /// Sets a default function with a separate conversion of its results.
    ///
    /// Unlike the function, `convert` may create objects. In all other respects, the effect is that of
    /// ``setDefault(of:in:to:)``.
    package func setDefault<Result>(
        of name: String, in className: String, to function: (() throws -> Result)?,
        convert: @escaping (Result) throws -> Value
    ) throws {
        try check()
        let classSchema = try view.schema.require(className)
        let property = try classSchema.requireProperty(name)
        guard !property.isBacklinks else {
            throw StoreError(
                .invalidArgument,
                "'\(className).\(name)' is a backlinks property and cannot have a default")
        }
        let title = "the default function of '\(className).\(name)'"
        functionDefaults[classSchema.table, property.column] = function.map { function in
            { [unowned self] in
                let result = try ReadOnlySection.run(title, function)
                // A Swift function may have ignored the error of closing the store.
                try check()
                return try convert(result)
            }
        }
        inserterCache.releaseInserters()
    }

    /// Returns whether a function computes a property of new objects.
    package func hasFunctionDefault(_ property: Property, _ classSchema: ClassSchema) -> Bool {
        functionDefaults[classSchema.table, property.column] != nil
    }
}

/// The default functions of a store's properties.
final class DefaultFunctions {
    private var functions: [TableID: [ColumnID: () throws -> Value]] = [:]
    /// Whether no function was ever set.
    private(set) var isEmpty = true

    /// The default function of a column.
    subscript(_ table: TableID, _ column: ColumnID) -> (() throws -> Value)? {
        get { isEmpty ? nil : functions[table]?[column] }
        set {
            functions[table, default: [:]][column] = newValue
            isEmpty = false
        }
    }
}
