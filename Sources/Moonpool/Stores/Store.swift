import ObjectStore
import Synchronization
import SystemCalls

/// Queries, writes and observes the objects of a file, on the actor that has opened it.
///
/// ```swift
/// let store = try Store(.file("zoo.moonpool"), models: Dog.self, Person.self)
/// try await store.write { tx in try tx.insert(Dog(name: "Rex", age: 3)) }
/// for dog in store.all(Dog.self).where({ $0.age > 2 }) { print(dog.name) }
/// ```
///
/// A store and its live values belong to the actor whose code has opened the store, and are not Sendable. A store
/// opened in code without an actor belongs to the task or thread that opened it. Each actor opens its own store of a
/// file. A store shows one version of the file. It advances to the newest version in its actor's next turn after a
/// commit, in ``refresh()``, and in a write.
public final class Store {
    let context: ModelContext
    private var tables: [ObjectIdentifier: ModelTable] = [:]

    init(_ context: ModelContext) { self.context = context }

    /// Opens a store on the caller's actor.
    ///
    /// Creates the file if it does not exist, and missing classes. Takes about a millisecond.
    ///
    /// - Parameters:
    ///   - location: The file, or a name in memory.
    ///   - models: The models of the store, with every model that they link to.
    ///   - version: The version of the schema. A file with a lower version is migrated.
    ///   - options: Durability and limits.
    ///   - isolation: The actor that the store belongs to.
    ///   - migration: Adapts the data to the new schema, in one transaction.
    /// - Throws: `StoreError`: `invalid_schema` for a model that cannot be stored, `migration_needed`,
    ///   `version_too_low`, `file_corrupt`, `file_format_too_new`, `read_only`, `disk_full`, `invalid_argument`.
    public convenience init(
        _ location: StoreLocation, models: any ObjectModel.Type..., version: Int = 0,
        options: StoreOptions = StoreOptions(),
        on isolation: isolated (any Actor)? = #isolation,
        migration: ((Migration) throws -> Void)? = nil
    ) throws {
        try self.init(
            location, listing: models, version: version, options: options, on: isolation,
            migration: migration)
    }

    init(
        _ location: StoreLocation, listing models: [any ObjectModel.Type], version: Int,
        options: StoreOptions, on isolation: isolated (any Actor)?,
        migration: ((Migration) throws -> Void)?
    ) throws {
        context = try Self.open(
            location, models: models, version: version, options: options, on: isolation,
            migration: migration)
        for model in models { try keepTable(of: model) }
    }

    /// Opens a store for the caller's actor, and migrates its file without blocking the actor.
    ///
    /// It otherwise equals ``init(_:models:version:options:on:migration:)``.
    nonisolated(nonsending) public static func open(
        _ location: StoreLocation, models: any ObjectModel.Type..., version: Int = 0,
        options: StoreOptions = StoreOptions(),
        migration: (@Sendable (Migration) throws -> Void)? = nil
    ) async throws -> Store {
        try await prepare(
            location, models: models, version: version, options: options, migration: migration)
        let context = try open(
            location, models: models, version: version, options: options, on: #isolation,
            migration: migration)
        let store = Store(context)
        for model in models { try store.keepTable(of: model) }
        return store
    }

    /// Creates or migrates the file on another thread, with a store that is then closed.
    @concurrent
    private static func prepare(
        _ location: StoreLocation, models: [any ObjectModel.Type], version: Int,
        options: StoreOptions, migration: (@Sendable (Migration) throws -> Void)?
    ) async throws {
        // An in-memory store ends with its last reference, and is never migrated.
        guard case .file = location, !options.isReadOnly else { return }
        let context = try open(
            location, models: models, version: version, options: options, on: nil,
            migration: migration)
        try context.engine.close()
        context.scheduling?.commitWatch?.cancel()
    }

    private static func open(
        _ location: StoreLocation, models: [any ObjectModel.Type], version: Int,
        options: StoreOptions, on isolation: (any Actor)?, migration: ((Migration) throws -> Void)?
    ) throws -> ModelContext {
        guard version >= 0 else {
            throw StoreError(.invalidArgument, "the schema version \(version) is negative")
        }
        let descriptions = try models.map { try ModelRegistry.erasedDescription(of: $0) }
        let scheduling = StoreScheduling()
        scheduling.adopt(isolation)
        let configuration = options.configuration(
            location, schema: try ModelSchema.classes(descriptions), version: version)
        let engine = try ObjectStore.Store(
            configuration, scheduler: IsolationScheduler(signal: scheduling.signal),
            migration: migration.map { body in { try body(Migration($0)) } })
        try ModelSchema.setDefaults(descriptions, in: engine)
        engine.lockUser = StoreLog.writer(of: location, for: scheduling.actor)
        let watch = CommitWatch(engine, scheduling.signal)
        scheduling.commitWatch = watch
        engine.moveHandler = { [signal = scheduling.signal, weak engine] in
            if let engine { watch?.storeMoved(to: engine.version) }
            signal.resumeAll()
        }
        let context = ModelContext(.store(engine), scheduling: scheduling)
        if options.isObservable ?? (isolation is any GlobalActor) {
            context.observeReads(of: engine)
        }
        return context
    }

    private func keepTable(of type: any ObjectModel.Type) throws {
        func open<M: ObjectModel>(_ type: M.Type) throws { _ = try table(type) }
        try open(type)
    }

    func table<M: ObjectModel>(_ type: M.Type) throws -> ModelTable {
        if let known = tables[ObjectIdentifier(type)] { return known }
        let table = try context.table(type)
        tables[ObjectIdentifier(type)] = table
        return table
    }

    /// The engine's store of a live context.
    var engine: ObjectStore.Store {
        do { return try context.engine } catch { ModelContext.trap(error) }
    }

    // MARK: Objects

    /// Returns all objects of a model, in the order of their creation.
    public func all<M: Model>(_ type: M.Type) -> Results<M> {
        do {
            let table = try table(type)
            return Results(
                table, ObjectStore.Results(context.source, all: table.classSchema))
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Returns the object with a primary key; nil if it does not exist.
    ///
    /// Takes about half a microsecond.
    ///
    /// Throws `invalid_argument` if the model has no primary key, `type_mismatch` for a key of another type, `closed`.
    public func find<M: Model>(
        _ type: M.Type, _ primaryKey: some StoredValue & Hashable
    ) throws -> Live<M>? {
        let table = try table(type)
        let key = try primaryKey._element(in: StoredContext(context)).value
        return try engine.object(table.description.className, primaryKey: key).map {
            Live(table, $0.key)
        }
    }

    /// Returns the object with an ID; nil if it was deleted, or is an object of another file.
    public subscript<M>(id: ObjectID<M>) -> Live<M>? {
        do {
            try engine.check()
            guard context.owns(id.file) else { return nil }
            let table = try table(M.self)
            let object = Live<M>(table, id.key)
            return object.isValid ? object : nil
        } catch {
            ModelContext.trap(error)
        }
    }

    // MARK: State

    /// The location of the data.
    public var location: StoreLocation {
        switch engine.configuration.location {
        case .file(let path): .file(path)
        case .memory(let name): .memory(name)
        }
    }
    /// Whether the store was closed.
    public var isClosed: Bool { engine.isClosed }
    /// The version of the file that the store shows.
    public var version: Int { Int(engine.version) }
    /// Whether a write is open.
    public var isInWrite: Bool { engine.isInWrite }
    /// The last change of the schema that the store has received since it was opened; nil if there was none.
    public var lastSchemaEvent: SchemaEvent? { engine.lastSchemaEvent }
    /// Whether the store advances to newer versions in the turns of its actor.
    ///
    /// True by default.
    public var autorefresh: Bool {
        get { engine.autorefresh }
        set { engine.autorefresh = newValue }
    }

    /// Advances to the newest version and delivers changes to observers.
    ///
    /// Returns whether the version has changed. In a write and in an observer, it has no effect and returns false.
    /// Throws `closed`.
    @discardableResult  // because the delivery is often the purpose
    public func refresh() throws -> Bool { try engine.refresh() }

    /// Closes the store: ends observers and sequences, rolls back an open write, and releases the version.
    ///
    /// A second call has no effect.
    public func close() {
        engine.close()
        context.scheduling?.commitWatch?.cancel()
        context.scheduling?.signal.removeHandler()
    }
}

/// The schema of a store's models.
package enum ModelSchema {
    /// Adds the defaults of models that differ between objects to a store.
    ///
    /// Throws the errors of describing a model.
    package static func setDefaults(
        of models: [any ObjectModel.Type], in engine: ObjectStore.Store
    ) throws {
        try setDefaults(models.map { try ModelRegistry.erasedDescription(of: $0) }, in: engine)
    }

    static func setDefaults(
        _ descriptions: [ModelDescription], in engine: ObjectStore.Store
    ) throws {
        for description in descriptions {
            for field in description.fields {
                guard let compute = field.computedDefault else { continue }
                try engine.setDefault(of: field.name, in: description.className, to: compute)
            }
        }
    }

    /// Returns the classes of models.
    ///
    /// Throws `invalid_schema` for a link to a model that is not among them.
    static func classes(_ descriptions: [ModelDescription]) throws -> [ClassSchema] {
        let names = Set(descriptions.map(\.className))
        for description in descriptions {
            for field in description.fields {
                guard let target = field.storedType.target ?? field.storedType.origin?.model,
                    !names.contains(target.className)
                else { continue }
                throw StoreError(
                    .invalidSchema,
                    "'\(description.className).\(field.name)' links to '\(target.className)', which is not among the "
                        + "models of the store; add \(target.className).self")
            }
        }
        return try descriptions.map { try $0.classSchema() }
    }
}
