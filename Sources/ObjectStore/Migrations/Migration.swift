import ColumnStorage

/// A running migration: the objects with their old values, the objects with their new values, and the mapping between
/// them.
///
/// The new schema applies from the beginning: unchanged properties have their values, new ones are zero, empty or nil.
/// When the function returns, primary keys are checked for duplicates and required properties for missing values. Data
/// that the new schema does not contain is dropped, and all changes are committed together. If the function or a check
/// throws, the file remains unchanged.
///
/// A migration is confined to the store's thread and ends when the function returns.
public final class Migration {
    /// The schema version of the file before the migration.
    public var oldVersion: UInt64 { schemaMigration.before.version }
    /// The schema version after the migration.
    public var newVersion: UInt64 { schemaMigration.version }
    /// The objects before the migration, for reading.
    package var old: StoreView { schemaMigration.old }
    /// The migrated store, in a write transaction that ends with the migration.
    public var store: Store { schemaMigration.store }
    /// Receives the progress of ``each(_:_:)`` from time to time: the class, the number of visited objects and the
    /// total.
    package var progressHandler: ((_ className: String, _ done: Int, _ total: Int) throws -> Void)?

    /// Receives each object that the function passed to `each` could not migrate.
    ///
    /// If the handler is nil, the migration fails at the first such object. Dry runs set a handler; their result must
    /// be discarded.
    package var failureHandler: ((_ message: String, _ object: String) -> Void)?

    /// The differences between the old and the new schema.
    var differences: [SchemaDifference] { schemaMigration.differences }

    /// The schemas before and after the migration.
    var schemas: (old: Schema, new: Schema) { schemaMigration.schemas }

    /// Whether an object could not be migrated, so that the result must not be committed.
    private(set) var hasFailed = false

    /// Reports an object that the function passed to `each` could not migrate.
    package func objectFailed(_ message: String, _ object: String) {
        hasFailed = true
        failureHandler?(message, object)
    }

    /// The running loop of `each`, for reports of failures.
    private var currentWalk: MigrationWalk?
    private var failedObject: String?

    private let schemaMigration: SchemaMigration
    private var isOver = false

    /// Begins the migration: until its end, the write transaction of the store cannot be ended.
    init(_ schemaMigration: SchemaMigration) {
        self.schemaMigration = schemaMigration
        store.didBeginMigration()
    }

    func end() {
        isOver = true
        failedObject = currentObject
        currentWalk = nil
        progressHandler = nil
        failureHandler = nil
        store.didEndMigration()
    }

    func didBegin(_ walk: MigrationWalk) { currentWalk = walk }

    func didEnd(_ walk: MigrationWalk) { currentWalk = nil }

    /// The current object of `each`, such as `Person id = 17`; nil outside of it.
    ///
    /// After a failed migration, the object at which it failed.
    package var currentObject: String? { currentWalk?.currentName ?? failedObject }

    /// Throws `invalid_argument` after the end of the migration.
    package func check() throws {
        guard !isOver else {
            throw StoreError(
                .invalidArgument,
                "this migration has ended; use it only in the migration function")
        }
        try store.check()
    }

    /// Calls `body` with each object of a class in its old and its new state, in the order of their creation.
    ///
    /// Objects that the migration deleted or created are not visited. A class that is new or removed has no objects to
    /// visit. `className` is a name of the new schema, or of the old one for a class that the new one does not declare.
    ///
    /// Throws `unknown_class` and the errors of `body`.
    public func each(
        _ className: String, _ body: (_ old: LiveObject, _ new: LiveObject) throws -> Void
    ) throws {
        guard let walk = try walk(className) else { return }
        while let key = try walk.next() {
            do {
                try body(walk.oldObject(key), walk.newObject(key))
            } catch {
                guard failureHandler != nil else { throw error }
                objectFailed("\(error)", walk.currentName ?? className)
            }
        }
    }

    /// Returns the classes with the given name, before and after the migration.
    ///
    /// The old class is nil for a new class, and the new class is nil for a removed one. Throws `unknown_class`.
    package func classes(named className: String) throws -> (old: ClassSchema?, new: ClassSchema?) {
        try check()
        return try schemaMigration.counterparts(className)
    }

    /// Returns the objects that ``each(_:_:)`` visits; nil if there are none.
    package func walk(_ className: String) throws -> MigrationWalk? {
        try check()
        let (oldClass, newClass) = try schemaMigration.counterparts(className)
        guard let oldClass, let newClass else { return nil }
        return try MigrationWalk(self, oldClass, newClass)
    }

    /// Sets new required properties whose defaults are functions in all existing objects.
    ///
    /// Each function is called once for each object. Call this after the functions were set with
    /// ``Store/setDefault(of:in:to:)``.
    package func fillComputedDefaults() throws {
        try check()
        try schemaMigration.fillComputedDefaults()
    }

    /// Returns all objects of a class of the new schema.
    ///
    /// Throws `unknown_class`.
    public func objects(_ className: String) throws -> Results {
        try check()
        return try store.objects(className)
    }

    /// Creates an object of the new schema, or updates the one with the same primary key.
    ///
    /// Throws the errors of ``Store/create(_:_:mode:)``.
    @discardableResult  // because most callers find the object later by a query
    public func create(
        _ className: String, _ values: Value = .dictionary([:]), mode: UpdateMode = .error
    ) throws -> LiveObject {
        try check()
        return try store.create(className, values, mode: mode)
    }

    /// Deletes an object of the new schema.
    ///
    /// Throws `frozen` for an old object, `invalid_object` for a deleted object.
    public func delete(_ object: LiveObject) throws {
        try check()
        try store.delete(object)
    }
}

extension Migration {
    /// Renames a property and keeps its values.
    ///
    /// The renames of a migration are judged together at its end, so properties can exchange their names in any order:
    /// `name` means the property that had it in the file, unless that one was renamed; a new name may be renamed again.
    /// A required property can replace an optional one; at the end, none of its values may be nil. A collection of
    /// required elements can also replace one of optional elements; a nil element at the end is an error. `className`
    /// may be the old or the new name of the class.
    ///
    /// Throws `invalid_schema` if the class does not exist, if it does not have the property, if another one was renamed
    /// to the new name, or if the types differ. The migration throws at its end if the new schema still declares the old
    /// name, or if another property of the file keeps the new name.
    public func renameProperty(_ className: String, from name: String, to newName: String) throws {
        try check()
        let counterpart: ClassSchema?
        do {
            counterpart = try schemaMigration.counterparts(className).old
        } catch let error as StoreError where error.code == .unknownClass {
            throw StoreError(.invalidSchema, error.message)
        }
        guard let oldClass = counterpart else {
            throw StoreError(
                .invalidSchema, "class '\(className)' is new: it has no properties to rename")
        }
        let renames = schemaMigration.circumstances.renames
        let subject = "'\(className).\(name)' cannot be renamed to '\(newName)'"
        guard let original = renames.propertyToRename(name, in: oldClass),
            let old = oldClass.property(named: original), !old.isBacklinks
        else {
            let known = oldClass.properties.map {
                renames.newProperty(of: $0.name, in: oldClass.name)
            }
            throw StoreError(
                .invalidSchema,
                "\(subject): the file has no property with this name"
                    + NearestName.hint(for: name, among: known))
        }
        if let other = renames.properties[oldClass.name]?[newName] {
            throw StoreError(.invalidSchema, "\(subject): '\(other)' was renamed to it")
        }
        let wanted = schemaMigration.wantedClass(renames.newClass(of: oldClass.name))
        if let target = wanted?.property(named: newName) {
            // The class that a link leads to may be renamed later.
            guard target.type == old.type, target.collection == old.collection else {
                throw StoreError(
                    .invalidSchema,
                    "\(subject): its type would change from \(old.typeName) to \(target.typeName); "
                        + "fill the new property from the old objects instead")
            }
        }
        try schemaMigration.update {
            $0.renames.renameProperty(name, to: newName, in: oldClass)
        }
    }

    /// Renames a class and keeps its objects.
    ///
    /// Links remain valid. Like properties, classes can exchange their names. Rename a class before you create objects
    /// of the new one. The rules for new, changed and removed properties are those of a class that keeps its name.
    ///
    /// Throws `invalid_schema` if the file does not have the class, if another one was renamed to the new name, or if
    /// the new class already has objects. The migration throws at its end if the new schema still declares the old name,
    /// or if another class of the file keeps the new name.
    public func renameClass(_ name: String, to newName: String) throws {
        try check()
        let renames = schemaMigration.circumstances.renames
        let stored = Set(old.schema.classes.map(\.name))
        let subject = "class '\(name)' cannot be renamed to '\(newName)'"
        guard let original = renames.classToRename(name, among: stored),
            !schemaMigration.circumstances.removed.contains(original)
        else {
            let known = old.schema.classes.map { renames.newClass(of: $0.name) }
            throw StoreError(
                .invalidSchema,
                "\(subject): the file has no class with this name"
                    + NearestName.hint(for: name, among: known))
        }
        if let other = renames.classes[newName] {
            throw StoreError(.invalidSchema, "\(subject): '\(other)' was renamed to it")
        }
        if let created = store.view.schema.find(newName),
            old.schema.find(table: created.table) == nil,
            try store.view.table(created).count > 0
        {
            throw StoreError(
                .invalidSchema, "\(subject): it already has objects; rename it before creating any")
        }
        try schemaMigration.update { $0.renames.renameClass(name, to: newName, among: stored) }
    }

    /// Declares that a property, which the new schema does not have, is removed with its values.
    ///
    /// Returns false if the file does not have the property. Throws `unknown_class`, and `invalid_schema` if the new
    /// schema still declares the property.
    @discardableResult  // because most callers do not care whether the property existed
    public func deleteProperty(_ className: String, _ name: String) throws -> Bool {
        try check()
        let (oldClass, newClass) = try schemaMigration.counterparts(className)
        guard let oldClass, let old = oldClass.property(named: name), !old.isBacklinks else {
            return false
        }
        let newName = schemaMigration.circumstances.renames.newClass(of: oldClass.name)
        guard schemaMigration.wantedClass(newName)?.property(named: name) == nil else {
            throw StoreError(
                .invalidSchema,
                "'\(className).\(name)' cannot be deleted: the new schema still declares it")
        }
        schemaMigration.declareLoss(of: "\(newClass?.name ?? oldClass.name).\(name)")
        schemaMigration.declareLoss(of: "\(oldClass.name).\(name)")
        return true
    }

    /// Deletes all objects of a class, and the class itself unless the new schema declares it.
    ///
    /// Links to the objects become nil, and lists lose these elements. Returns false if the class does not exist.
    @discardableResult  // because most callers do not care whether the class existed
    public func deleteClass(_ name: String) throws -> Bool {
        try check()
        guard let present = store.view.schema.find(name) else { return false }
        try store.deleteAll(name)
        if schemaMigration.wantedClass(name) == nil,
            let stored = old.schema.find(table: present.table)
        {
            try schemaMigration.update { $0.removed.insert(stored.name) }
        }
        return true
    }
}

/// A loop of a migration over the objects of a class, in the order of their creation.
package final class MigrationWalk {
    /// The class before the migration.
    package let oldClass: ClassSchema
    /// The class after the migration.
    package let newClass: ClassSchema
    /// The version with the old values of the objects.
    package let oldView: StoreView
    private let migration: Migration
    private var keys: ResultKeys.Iterator
    private let total: Int
    private let newRows: TableReader
    private var done = 0
    private var current: ObjectKey?

    /// The number of objects after which the clock is read again; slow objects lower it.
    private var step = 1
    private var nextReport = 0
    private var lastReport = ContinuousClock.now

    /// Creates a loop over all objects of a class.
    init(_ migration: Migration, _ oldClass: ClassSchema, _ newClass: ClassSchema) throws {
        self.migration = migration
        self.oldClass = oldClass
        self.newClass = newClass
        oldView = migration.old
        newRows = try migration.store.view.table(newClass)
        let present = try QueryEvaluator.keys(of: Query(all: oldClass), in: oldView)
        total = present.count
        keys = present.makeIterator()
        migration.didBegin(self)
    }

    /// Returns the key of the next object that still exists; nil at the end.
    ///
    /// Throws `invalid_argument` after the end of the migration, and the errors of a progress handler.
    package func next() throws -> ObjectKey? {
        try reportInTime()
        while let key = keys.next() {
            done += 1
            assert(done <= total, "a walk visits each object once")
            current = key
            if try newRows.isPresent(key) { return key }
            try reportInTime()
        }
        assert(done == total, "a walk ends after the last object")
        current = nil
        migration.didEnd(self)
        try report()
        return nil
    }

    /// The class and the identifier of the object that was returned last.
    package var currentName: String? {
        current.map {
            "\(newClass.name) "
                + oldView.name(of: ObjectReference(table: oldClass.table, key: $0))
        }
    }

    /// Reports the progress after as many objects as take about ten milliseconds.
    private func reportInTime() throws {
        guard done >= nextReport else { return }
        let now = ContinuousClock.now
        step = now - lastReport < .milliseconds(10) ? min(step * 2, 64) : max(step / 2, 1)
        lastReport = now
        nextReport = done + step
        try report()
    }

    /// Reports the progress of the loop.
    func report() throws {
        try migration.check()
        try migration.progressHandler?(oldClass.name, done, total)
    }

    /// Returns the object before the migration.
    package func oldObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.frozen(oldView), oldClass, key)
    }

    /// Returns the object in its new state.
    package func newObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.store(migration.store), newClass, key)
    }
}
