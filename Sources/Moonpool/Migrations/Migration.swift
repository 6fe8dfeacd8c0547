import ObjectStore

/// Brings a file with a lower schema version to the models, in one transaction, while the store is opened.
///
/// ```swift
/// let store = try Store(.file(path), models: Dog.self, version: 2) { migration in
///     try migration.rename(\Dog.age, from: "years")
///     try migration.forEach(Dog.self) { old, new in new.name = try old["title"] }
/// }
/// ```
///
/// An error leaves the file as it was. Values convert where that is exact; a loss of values that the migration does not name is
/// `migration_needed`.
public final class Migration {
    private let engine: ObjectStore.Migration
    private let store: Store
    /// The write that the migration is part of.
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
    /// Throws `invalid_schema` if the file has no such property.
    public func rename<M: ObjectModel, V: StoredValue>(
        _ path: KeyPath<M, V>, from oldName: String
    ) throws {
        let field = try ModelRegistry.description(of: M.self).field(of: path)
        try engine.renameProperty(M.className, from: oldName, to: field.name)
    }

    /// Keeps the objects of a class that had another name.
    ///
    /// Throws `invalid_schema` if the file has no such class.
    public func rename<M: ObjectModel>(_ type: M.Type, from oldName: String) throws {
        try engine.renameClass(oldName, to: M.className)
    }

    /// Deletes all objects of a class of the file.
    ///
    /// Returns false if the file has no such class.
    @discardableResult  // because a class that is gone is as good as one that is deleted
    public func deleteClass(_ oldName: String) throws -> Bool { try engine.deleteClass(oldName) }
}
