import ColumnStorage
import ObjectStore
import StructLayouts

/// The effect of inserting a value with an existing primary key.
public enum InsertMode: Sendable {
    /// Throws `duplicate_key`.
    case new
    /// Assigns all properties.
    case updating
    /// Assigns the changed properties, so that observers receive only these.
    case updatingModified

    var engineMode: UpdateMode {
        switch self {
        case .new: .error
        case .updating: .all
        case .updatingModified: .modified
        }
    }
}

/// The open write of a store: inserts and deletes objects.
///
/// It ends with the closure that receives it.
///
/// ```swift
/// try await store.write { tx in
///     let rex = try tx.insert(Dog(name: "Rex"))
///     rex.siblings.append(try tx.insert(Dog(name: "Max")))
///     try tx.delete(store.all(Dog.self).where { $0.name == "" })
/// }
/// ```
public final class Transaction {
    /// The store of the transaction.
    public let store: Store
    private var isOpen = true
    private var inserters: [ObjectIdentifier: AnyObject] = [:]

    init(_ store: Store) { self.store = store }

    func end() {
        assert(isOpen, "a transaction ends once")
        isOpen = false
        inserters = [:]
    }

    private func check() throws {
        guard isOpen else {
            throw StoreError(
                .notInWrite,
                "this transaction has ended; use it only in the closure that receives it")
        }
    }

    /// Inserts a value as an object, or updates the object with its primary key.
    ///
    /// Values in `Link.new` and embedded values are inserted with it, in the same mode. Throws `duplicate_key`,
    /// `invalid_object` for a link to an object that does not exist, `out_of_range`, `unknown_class`, `not_in_write`
    /// after the write has ended.
    @discardableResult  // because many objects are found again by a query
    public func insert<M: Model>(_ value: M, _ mode: InsertMode = .new) throws -> Live<M> {
        let key = try inserter(of: M.self).insertReturningKey(value, mode)
        return Live(try store.table(M.self), key)
    }

    /// Inserts values as objects.
    ///
    /// Throws the errors of ``insert(_:_:)``.
    @inlinable  // so that the compiler knows the type of the sequence
    public func insert<M: Model>(
        contentsOf values: some Sequence<M>, _ mode: InsertMode = .new
    ) throws {
        let inserter = try inserter(of: M.self)
        for value in values { try inserter.insert(value, mode) }
    }

    /// Changes the object with a primary key, and creates it before with the defaults of the model if there is none.
    ///
    /// Only the properties that `change` sets are changed; an insertion with ``InsertMode/updating`` assigns all of them.
    ///
    /// ```swift
    /// try tx.upsert(Person.self, key: "Ann") { $0.visits += 1 }
    /// ```
    ///
    /// Throws `invalid_argument` for a model without a primary key, `type_mismatch` for a key of another type,
    /// `not_in_write`, and the errors of `change`.
    @discardableResult  // because many objects are found again by a query
    public func upsert<M: Model>(
        _ type: M.Type, key: some StoredValue & Hashable, _ change: (Live<M>) throws -> Void
    ) throws -> Live<M> {
        try check()
        let object =
            try store.find(type, key)
            ?? insert(ModelRegistry.description(of: type).value(withKey: key.stored))
        try change(object)
        return object
    }

    /// Returns the object with the primary key of a value; inserts the value if there is none.
    ///
    /// An existing object is not changed. Throws the errors of ``insert(_:_:)``, and `invalid_argument` for a model
    /// without a primary key.
    @discardableResult  // because many objects are found again by a query
    public func findOrInsert<M: Model>(_ value: M) throws -> Live<M> {
        try check()
        let key = try ModelRegistry.description(of: M.self).key(of: value)
        let known = try store.engine.object(
            M.className, primaryKey: store.context.resolved(key))
        if let known { return Live(try store.table(M.self), known.key) }
        return try insert(value)
    }

    /// Returns the inserter of a model, with its class and its properties.
    @usableFromInline
    func inserter<M: Model>(of type: M.Type) throws -> ModelInserter<M> {
        try check()
        if let known = inserters[ObjectIdentifier(type)] as? ModelInserter<M>,
            known.engine.isUsable
        {
            return known
        }
        let table = try store.table(type)
        let created = ModelInserter<M>(
            try ModelRegistry.description(of: type),
            StagedModel(
                try store.engine.inserter(of: table.currentClass), StoredContext(store.context)))
        inserters[ObjectIdentifier(type)] = created
        return created
    }

    /// Runs `body` as a part of the write, and returns its result.
    ///
    /// An error of `body`, or of its first failed assignment, rolls back the changes of `body` and is thrown; the
    /// write continues. Savepoints can be nested.
    ///
    /// ```swift
    /// try await store.write { tx in
    ///     for order in orders {
    ///         do { try tx.savepoint { try book(order, in: tx) } } catch { refused.append(order) }
    ///     }
    /// }
    /// ```
    ///
    /// Takes time in proportion to the changes since the last savepoint. Throws `not_in_write` after the write has
    /// ended, and the errors of `body`.
    @discardableResult  // because most savepoints have no result
    public func savepoint<R>(_ body: () throws -> R) throws -> R {
        try check()
        try store.context.checkFailure()
        do {
            return try store.engine.savepoint {
                let result = try body()
                try store.context.checkFailure()
                return result
            }
        } catch {
            store.context.forgetFailure()
            inserters = [:]
            throw error
        }
    }

    /// Deletes an object and its embedded objects.
    ///
    /// Links to it become nil.
    ///
    /// Throws `invalid_object` for an object that was deleted or belongs to another store.
    public func delete<M: Model>(_ object: Live<M>) throws {
        try check()
        try store.engine.delete(object.modelTable.liveObject(object.objectKey))
    }

    /// Deletes objects and their embedded objects.
    ///
    /// Throws the errors of ``delete(_:)-(Live<M>)`` at the first object that cannot be deleted.
    public func delete<M: Model>(_ objects: some Sequence<Live<M>>) throws {
        for object in Array(objects) { try delete(object) }
    }

    /// Deletes the objects of results.
    ///
    /// Throws `not_in_write`, `closed`, `invalid_object` for results of another file.
    public func delete<M: Model>(_ results: Results<M>) throws {
        try check()
        try store.context.requireOwn(results.table.context.fileNumber, M.className)
        try store.engine.delete(
            try results.engineResults.keys().array, of: results.table.currentClass)
    }

    /// Deletes all objects of a model.
    public func deleteAll<M: Model>(_ type: M.Type) throws {
        try check()
        try store.engine.deleteAll(try store.table(type).description.className)
    }
}

extension ModelTable {
    /// The class in the current schema.
    var currentClass: ClassSchema {
        context.source.view.schema.find(table: classSchema.table) ?? classSchema
    }
}

/// Inserts values of one model in one write.
@usableFromInline
final class ModelInserter<M: ObjectModel> {
    private let stages: [TypedDescription<M>.Stage]
    private let staged: StagedModel
    var engine: ObjectInserter { staged.engine }

    init(_ description: TypedDescription<M>, _ staged: StagedModel) {
        stages = description.stages
        self.staged = staged
    }

    @usableFromInline
    func insert(_ value: M, _ mode: InsertMode) throws {
        _ = try insertReturningKey(value, mode)
    }

    func insertReturningKey(_ value: M, _ mode: InsertMode) throws -> ObjectKey {
        do {
            try StructLayout<M>.withFields(of: value) { fields in
                for stage in stages { try stage(fields, staged) }
            }
        } catch {
            engine.clear()
            throw error
        }
        return try engine.insert(mode: mode.engineMode)
    }
}

/// The inserter that receives the values of the next object, one property after the other.
final class StagedModel {
    let engine: ObjectInserter
    let context: StoredContext

    init(_ engine: ObjectInserter, _ context: StoredContext) {
        self.engine = engine
        self.context = context
    }
}
