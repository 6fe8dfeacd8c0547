import ObjectStore

/// Migrates a file with a lower schema version to the models, in one transaction, while the store is opened.
///
/// ```swift
/// let store = try Store(.file(path), models: Dog.self, version: 2) { migration in
///     try migration.rename(\Dog.age, from: "years")
///     try migration.forEach(Dog.self) { old, new in new.name = try old["title"] }
///     try migration.deleteProperty("title", of: Dog.self)
/// }
/// ```
///
/// An error leaves the file unchanged. Values are converted if the conversion is exact. A loss of values that the
/// migration does not declare throws `migration_needed`.
public final class Migration {
    private let engine: ObjectStore.Migration
    private let store: Store
    /// The write transaction of the migration.
    public let transaction: Transaction

    init(_ engine: ObjectStore.Migration) {
        self.engine = engine
        store = Store(
            ModelContext(.store(engine.store), scheduling: StoreScheduling()))
        transaction = Transaction(store)
    }

    /// The schema version of the file before.
    public var oldVersion: Int { Int(engine.oldVersion) }
    /// The schema version of the file after.
    public var newVersion: Int { Int(engine.newVersion) }

    /// Keeps the values of a property that had another name.
    ///
    /// Throws `invalid_schema` if the file does not have the property.
    public func rename<M: ObjectModel, V: StoredValue>(
        _ path: KeyPath<M, V>, from oldName: String
    ) throws {
        let field = try ModelRegistry.description(of: M.self).field(of: path)
        try engine.renameProperty(M.className, from: oldName, to: field.name)
    }

    /// Keeps the objects of a class that had another name.
    ///
    /// Throws `invalid_schema` if the file does not have the class.
    public func rename<M: ObjectModel>(_ type: M.Type, from oldName: String) throws {
        try engine.renameClass(oldName, to: M.className)
    }

    /// Deletes all objects of a class of the file.
    ///
    /// Returns false if the file does not have the class.
    @discardableResult  // because a missing class is as good as a deleted one
    public func deleteClass(_ oldName: String) throws -> Bool { try engine.deleteClass(oldName) }

    /// Calls `body` with the old and the new form of each object, in the order of their creation.
    ///
    /// Only ``deleteProperty(_:of:)`` removes a property that the model does not have. A new class has no objects here;
    /// objects that the migration creates are in ``transaction``. The objects of a class without a model are in
    /// ``oldObjects(_:)``.
    ///
    /// Throws `unknown_class` and the errors of `body`.
    public func forEach<M: ObjectModel>(
        _ type: M.Type, _ body: (OldObject, Live<M>) throws -> Void
    ) throws {
        let table = try store.table(type)
        try engine.each(M.className) { old, new in
            try body(OldObject(old), Live(table, new.key))
            try store.context.checkFailure()
        }
    }

    /// Deletes the values of a property that the model does not have.
    ///
    /// Returns false if the file does not have the property. Throws `unknown_class`, and `invalid_schema` if the model
    /// still has the property.
    @discardableResult  // because a missing property is as good as a deleted one
    public func deleteProperty<M: ObjectModel>(_ name: String, of type: M.Type) throws -> Bool {
        try engine.deleteProperty(M.className, name)
    }

    /// Returns the objects of a class of the file before the migration.
    ///
    /// Throws `unknown_class` if the file does not have the class.
    public func oldObjects(_ className: String) throws -> [OldObject] {
        try engine.check()
        let view = engine.old
        let classSchema = try view.schema.require(className)
        let source = ObjectSource.frozen(view)
        return try ObjectStore.Results(source, all: classSchema).keys().map {
            OldObject(source.object(classSchema, $0))
        }
    }
}

/// An object of the file before a migration, with its properties by their old names.
///
/// ```swift
/// try migration.forEach(Dog.self) { old, new in new.name = try old["title"] }
/// ```
public struct OldObject {
    private let object: LiveObject

    init(_ object: LiveObject) { self.object = object }

    /// The value of a property.
    ///
    /// Throws `unknown_property`, and `type_mismatch` for a value of another type.
    public subscript<V: StoredValue>(name: String) -> V {
        get throws { try get(name, as: V.self) }
    }

    /// Returns the value of a property.
    ///
    /// Throws `unknown_property`, and `type_mismatch` for a value of another type.
    public func get<V: StoredValue>(_ name: String, as type: V.Type = V.self) throws -> V {
        let context = ModelContext(object.source, scheduling: nil)
        let value = context.mixed(try object.value(name))
        do { return try V(stored: value) } catch let error as StoreError {
            throw error.at("'\(object.classSchema.name).\(name)'")
        }
    }
}
