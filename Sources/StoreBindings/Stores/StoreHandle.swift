import LuaHost
import ObjectStore
import SystemCalls
import Transfer

/// A store for scripts, with the Lua classes of its objects.
package final class StoreHandle {
    /// The store.
    package let store: Store
    // Weak because Lua may retain the handle after the script has ended.
    private weak var owner: StoreModule?
    unowned let state: LuaState  // a handle is usable only while its state runs
    let dates: DateClass
    /// `moonpool.null`.
    let null: LuaValue
    let json: LuaJSON
    /// The keys of sections that are userdata or tables, by their hash; weak, so that unused keys are released.
    let sectionKeys: LuaTable
    /// The scope that records reads for the running effect or computed value.
    let readScope: ReadScope
    /// The functions that compute default values of new objects.
    let functionDefaults = FunctionDefaults()
    /// The properties whose values stay with the script's handles.
    let ignoredProperties: IgnoredProperties
    /// The changes of the schema by `store:define`, oldest first.
    var definitions: [Definition] = []
    /// The version up to which migrations repeat the changes of the schema; 0 for none.
    package internal(set) var migratedVersion: UInt64 = 0
    private let options: StoreConfiguration
    private var frozenSpaces: [WeakSpace] = []
    /// The active recordings of changes.
    private var recordings: [ChangeRecording] = []
    /// The active publisher or follower of the store; empty for most stores.
    private(set) var replications: [ReplicationHandle] = []
    /// The function that receives changes of the role in a cluster, and its hold on the script.
    private(set) var roleHandler: (function: LuaFunction, hold: (any BindingHold)?)?
    /// The unmanaged objects that are currently being stored.
    private(set) var additions: UnmanagedGraph?
    /// The update mode for nested objects in the values of a new object.
    private(set) var nestedMode = UpdateMode.error
    private var knownSchema: Schema?
    private var classesByTable: [TableID: ObjectClass] = [:]
    private var classesByName: [UInt: ObjectClass] = [:]
    /// The address of the name that was looked up last; its class is cached.
    private var recentName: UInt = 0
    private var recentClass: ObjectClass?

    private struct WeakSpace {
        weak var space: FrozenSpace?
    }

    init(_ module: StoreModule, _ store: Store) {
        owner = module
        state = module.state
        dates = module.dates
        null = module.null
        json = module.json
        sectionKeys = StoreModule.weakTable(state, "v")
        ignoredProperties = IgnoredProperties(state)
        readScope = module.readScope
        store.readScope = module.readScope
        self.store = store
        options = store.configuration
        // Outdated column numbers must not be used to read the objects of a script.
        store.schemaHandler = { [weak self] in self?.updateClasses() }
    }

    /// Runs `store`, which stores the unmanaged objects of a graph.
    func adding<Result>(
        _ graph: UnmanagedGraph, _ store: () throws -> Result
    ) rethrows -> Result {
        let outer = additions
        additions = graph
        defer { additions = outer }
        return try store()
    }

    /// Runs `create`, in which the nested objects of values are stored in a mode.
    func creating<Result>(
        nested mode: UpdateMode, _ create: () throws -> Result
    ) rethrows -> Result {
        nestedMode = mode
        defer { nestedMode = .error }
        return try create()
    }

    /// The module that opened the store; available while the script runs.
    var module: StoreModule {
        get throws {
            guard let owner else { throw StoreError(.closed, "the script has ended") }
            return owner
        }
    }

    /// The name of the store for scripts: its path, or the name of an in-memory store.
    package var name: String {
        switch options.location {
        case .file(let path): path
        case .memory(let name): name
        }
    }

    func isAt(_ location: StoreConfiguration.Location) -> Bool {
        switch (options.location, location) {
        case (.file(let a), .file(let b)):
            a == b || ProcessServices.isSameFile(a, b)
        default: options.location == location
        }
    }

    func checkSameOptions(_ other: StoreConfiguration) throws {
        guard other.isReadOnly == options.isReadOnly, other.durability == options.durability,
            other.history == options.history,
            other.maximumLiveVersions == options.maximumLiveVersions,
            other.threads == options.threads
        else {
            throw StoreError(
                .invalidArgument,
                "'\(name)' is already open with other options; close it first, or open it with the same ones"
            )
        }
        guard other.schema != nil || other.schemaVersion != 0 else { return }
        try store.check()
        let (current, asked) = (store.schema.version, other.schemaVersion)
        guard asked == current else {
            throw StoreError(
                asked < current ? .versionTooLow : .invalidArgument,
                "'\(name)' is open with schema version \(current); version \(asked) was requested; "
                    + (asked < current
                        ? "a script uses one version of a file at a time"
                        : "close it first to migrate it to a higher one"))
        }
        guard let schema = other.schema else { return }
        // The existing store is used: missing classes are added, and existing ones must match.
        do {
            try store.define(schema)
        } catch let error as StoreError where error.code == .migrationNeeded {
            let differences = error.message.drop { $0 != "\n" }
            throw StoreError(
                .migrationNeeded,
                "'\(name)' is open with another schema; close it first to migrate it, or change its "
                    + "schema with define:\(differences)")
        }
    }

    /// Closes the store at the request of the script.
    ///
    /// Throws `already_in_write` in a default function.
    func closeByScript() throws {
        try ReadOnlySection.check()
        close()
    }

    func close() {
        guard !store.isClosed else { return }
        let version = store.version
        store.close()
        for replication in replications { replication.task.finish(upTo: version) }
        replications = []
        setRoleHandler(nil)
        for recording in recordings { recording.stop() }
        recordings = []
        owner?.didClose(self)
        forgetClasses()
    }

    func add(_ recording: ChangeRecording) { recordings.append(recording) }

    func remove(_ recording: ChangeRecording) { recordings.removeAll { $0 === recording } }

    /// Sets the function that receives changes of the role; the script runs until the function is removed.
    func setRoleHandler(_ function: LuaFunction?) {
        roleHandler?.hold?.release()
        roleHandler = function.map { ($0, owner?.host?.hold()) }
    }

    /// Runs `body` in a write transaction, which `body` cannot end and whose commit gets an identity; returns the
    /// result, and the version afterward.
    package func write<Result>(
        as commit: String, _ body: () throws -> Result
    ) throws -> (Result, version: UInt64) {
        let result = try store.write {
            let result = try store.savepoint(body)
            try store.setCommitIdentity(commit)
            return result
        }
        return (result, store.version)
    }

    /// The membership of the store in a cluster.
    ///
    /// Throws `invalid_argument` if the store is not a member.
    package var membership: ReplicationHandle {
        get throws {
            guard let found = replications.first(where: { $0.task.isMember }) else {
                throw StoreError(
                    .invalidArgument,
                    "\(store.title) is not a member of a cluster; call store:cluster first")
            }
            return found
        }
    }

    func add(_ replication: ReplicationHandle) {
        assert(!replications.contains { $0 === replication }, "a store has a replication once")
        replications.append(replication)
    }

    func remove(_ replication: ReplicationHandle) { replications.removeAll { $0 === replication } }

    /// Waits until the streams have acknowledged the current version, if the script has requested acknowledged writes.
    func acknowledge() throws {
        guard !replications.isEmpty, !store.isClosed, !store.isInWrite else { return }
        for replication in replications { try replication.acknowledge(store.version, state) }
    }

    /// Breaks the reference cycle of the handle and its classes; Lua releases a class with its last object.
    private func forgetClasses() {
        let released = classesByTable.values
        classesByTable = [:]
        defer { for type in released { state.release(type) } }
        classesByName = [:]
        recentName = 0
        recentClass = nil
        functionDefaults.forget()
        ignoredProperties.forget()
    }

    /// Registers the parts of a script's schema that the store does not contain, after the store has adopted it.
    func take(_ schema: DeclaredSchema) throws {
        try functionDefaults.take(schema, for: self)
        ignoredProperties.take(schema)
    }

    /// Updates the classes to the current schema: adds new classes and updates changed ones.
    ///
    /// Has no effect on a closed store.
    func updateClasses() {
        let schema = store.view.schema
        guard schema !== knownSchema, !store.isClosed else { return }
        knownSchema = schema
        recentName = 0
        recentClass = nil
        var removed: [ObjectClass] = []
        for (table, known) in classesByTable {
            let name = schema.find(table: table)?.name
            // Another class can later have the released name.
            if name != known.classSchema.name { classesByName[known.internedName] = nil }
            // The script's objects of a removed class are deleted; their old class continues to report the deletion.
            if name == nil {
                classesByTable[table] = nil
                removed.append(known)
            }
        }
        for classSchema in schema.classes {
            if let known = classesByTable[classSchema.table] {
                known.follow(classSchema)
                continue
            }
            let created = register(classSchema)
            classesByTable[classSchema.table] = created
            classesByName[created.internedName] = created
        }
        // Last, because a release can run finalizers of scripts, which may close the store.
        for type in removed { state.release(type) }
    }

    /// Returns the current version as a frozen store; the same object each time while a script references it.
    func frozenSpace() throws -> FrozenSpace {
        frozenSpace(of: try store.frozenView(for: try module.holder))
    }

    /// Returns a version as a frozen store; the same object each time while a script references it.
    func frozenSpace(of view: StoreView) -> FrozenSpace {
        let known = frozenSpaces.compactMap(\.space)
        if let space = known.first(where: { $0.view === view }) { return space }
        let space = FrozenSpace(self, view)
        frozenSpaces = (known + [space]).map { WeakSpace(space: $0) }
        return space
    }

    private func register(_ classSchema: ClassSchema) -> ObjectClass {
        let created = ObjectClass(self, .store(store), classSchema)
        state.register(
            created, name: classSchema.name, methods: ObjectClass.methods,
            properties: PropertySlot.names(of: classSchema))
        return created
    }

    /// Calls `body` with a class that provides the methods: the live one, or a temporary one if the schema does not have
    /// the class or the store is closed.
    func withLiveClass<Result>(
        _ classSchema: ClassSchema, _ body: (ObjectClass) -> Result
    ) -> Result {
        if let live = objectClass(classSchema.table) { return body(live) }
        let lent = register(classSchema)
        defer { state.release(lent) }
        return body(lent)
    }

    func objectClass(_ table: TableID) -> ObjectClass? {
        if let known = classesByTable[table] { return known }
        updateClasses()
        return classesByTable[table]
    }

    func objectClass(named name: String) throws -> ObjectClass {
        try store.check()
        updateClasses()
        let classSchema = try store.view.schema.require(name)
        // The class exists, because `updateClasses` has created one for each table.
        return classesByTable[classSchema.table]!
    }

    /// Returns the class for the address of its interned name, without comparing text.
    func objectClass(at address: UInt) -> ObjectClass? {
        if store.view.schema !== knownSchema { updateClasses() }
        if address == recentName { return recentClass }
        guard let found = classesByName[address] else { return nil }
        recentName = address
        recentClass = found
        return found
    }

    func userdata(_ reference: ObjectReference) -> LuaValue {
        guard let type = objectClass(reference.table) else { return .nil }
        return state.userdata(LuaLiveObject(type: type, key: reference.key.rawValue))
    }
}
