import ColumnStorage

/// A live object store, which gives one thread access to the objects of a file.
///
/// A store has one snapshot of its file, and reads see that version. `refresh`, a write transaction or (with
/// `autorefresh`) a turn of the thread's event loop moves the store to the newest version and notifies observers. Each
/// thread opens its own store of a file. All stores of the file share it, across threads and processes, with one writer
/// at a time.
///
/// A store and all its objects are used on its scheduler's thread only. Changes need an open write transaction. A
/// closed store cannot be reopened; its handles throw `closed`.
public final class Store {
    /// The configuration with which the store was opened.
    public let configuration: StoreConfiguration

    /// The scheduler of the thread to which the store belongs.
    package let scheduler: any Scheduler

    /// The schema and the snapshot for reads; the same object for the whole life of the store.
    package let view: StoreView

    /// Whether a turn of the event loop moves the store to the newest version.
    ///
    /// On by default; if off, the store's observers are notified that a refresh is required.
    public var autorefresh = true

    /// Whether the store was closed.
    public var isClosed: Bool { end != .none }
    // This property is not public, so that the compiler sees all code that changes it and need not guard every read.
    private var end = End.none
    /// Where the store was closed: an open write is rolled back, which its function must not take for a commit.
    private enum End { case none, outsideWrite, inWrite }

    /// The dispatcher of the store's observers.
    package private(set) lazy var notifications = NotificationDispatcher(self)

    /// The scope that tracks reads for reactions; nil if reads are not tracked.
    package var readScope: ReadScope?
    /// The values that the store updates for its reactions.
    var liveNodes = LiveNodes()

    /// Called on the store's thread after the schema of the store has changed.
    package var schemaHandler: (() -> Void)?

    /// Called on the store's thread after the store has moved to another version or committed one.
    package var moveHandler: (() -> Void)?

    /// Called after each move to another version.
    package var advanceHandler: (() -> Void)?

    /// Called repeatedly while a write waits for another writer.
    ///
    /// An error of the handler ends the wait, and the write rethrows the error.
    let waitHandler: ((Store) throws -> Void)?

    /// The store as a writer: its name, and the handler of its long waits.
    package var lockUser: LockUser

    /// A link for holders that must not keep the store alive.
    let link = StoreLink()
    let coordinator: StoreCoordinator
    private let pin: VersionRegistry.Pin
    /// The last frozen view, while a caller holds it.
    weak var latestFrozen: StoreView?
    /// The views of earlier versions that callers requested, while they hold them.
    var pastViews = PastViews()
    private(set) var membership: UInt64 = 0
    private var wakeup: (any Wakeup)?
    private var announcedVersion: UInt64
    /// The version of the store's schema, which other processes can see.
    private var schemaMark: FileMark?
    /// Shows other processes that the store cannot run the functions of a migration; nil if it can, or does not write.
    private var plainMark: FileMark?
    /// The queued writes.
    var queue = WriteQueue()
    /// Whether a turn of the event loop was skipped because the store was busy.
    private var hasMissedTurn = false
    /// The outcome of the open write, if a reference needs it.
    private(set) var outcome: WriteOutcome?
    /// The cached inserter for single objects.
    var inserterCache = InserterCache()
    /// The functions that compute default values; only this store has them.
    let functionDefaults = DefaultFunctions()
    /// The operation that is running, of several changes that are made as a whole or not at all.
    var operation: WriteOperation?
    /// The schema's bytes in the file, which show whether another process changed it.
    private(set) var catalog: [UInt8] = []
    /// The schemas of the file.
    private(set) var fileSchema: FileSchema {
        didSet {
            conversions = ClassConversion.all(of: fileSchema, toNew: !isNewVersion)
            if oldValue.transition?.startedAt != fileSchema.transition?.startedAt { engine = nil }
        }
    }
    /// Whether the store uses the new schema of a started migration.
    var isNewVersion: Bool { fileSchema.isNewVersion }
    /// The functions of the started migration, once they were needed.
    private var engine: (any ConversionEngine)?
    /// The conversions to the schema that the store does not use; none without a started migration.
    private(set) var conversions: [ClassConversion] = []
    /// The schema before the open write transaction changed it; nil if it did not.
    private(set) var schemaBeforeWrite: Schema?
    /// The schemas of the file before the open write transaction changed them; nil if it did not.
    private var fileSchemaBeforeWrite: FileSchema?
    /// The schema of the current version, without changes of an open write transaction.
    var committedSchema: Schema { schemaBeforeWrite ?? view.schema }
    /// The last change of the schema that the store has received since it was opened; nil if there was none.
    public internal(set) var lastSchemaEvent: SchemaEvent?
    /// Prevents other stores from converting the objects of a started migration; nil if this one does not convert.
    var conversion: FileExclusion?
    /// The time at which this store began to convert objects, and the number of objects converted before.
    var conversionRun: (startedAt: Timestamp, converted: Int)?
    /// Prevents programs from opening a schema version until the open write transaction ends.
    var exclusion: FileExclusion?
    /// Whether a migration's function is running, in a write transaction that ends with it.
    private(set) var isMigrating = false
    /// The function that migrates the file when the store is opened.
    let migrationFunction: ((Migration) throws -> Void)?

    /// The stores that may write to the file.
    package internal(set) var writeAccess = WriteAccess.everyStore
    /// Whether the file follows a stream, so that only its replicating store may write.
    package var isFollower: Bool { writeAccess == .follower || writeAccess == .clusterFollower }
    /// Whether this store applies the commits of the stream.
    package var isReplicating = false

    /// Opens a store on the calling thread, which must be the scheduler's.
    ///
    /// Creates the file if it does not exist, and adds missing classes. Takes about a millisecond, independent of the
    /// number of objects. Throws `invalid_schema`, `migration_needed`, `version_too_low`, `duplicate_key` and
    /// `missing_value` (found after a migration), `file_corrupt`, `file_format_too_new`, `read_only`, `disk_full`,
    /// `invalid_argument` (the file cannot be opened or created, or needs a migration while this process has it open),
    /// and the errors of a migration.
    ///
    /// `migration` replaces the function of the configuration, for a closure that is confined to this thread.
    /// `shouldCompact` is called with the number of bytes of the file and the number of used bytes, if this is the
    /// first store of the file in the process. If it returns true, the file is compacted, unless another process has it
    /// open. Its errors are rethrown. `whileWaiting` is called about fifty times a second while a write, now or later,
    /// waits for another writer. An error of `whileWaiting` ends the wait; without the function, the wait cannot be
    /// interrupted.
    public init(
        _ configuration: StoreConfiguration, scheduler: any Scheduler,
        migration: ((Migration) throws -> Void)? = nil,
        shouldCompact: ((_ total: Int, _ used: Int) throws -> Bool)? = nil,
        whileWaiting waitHandler: ((Store) throws -> Void)? = nil
    ) throws {
        self.configuration = configuration
        self.waitHandler = waitHandler
        let script = configuration.holder.script
        lockUser = script.isEmpty ? .unnamed : LockUser("the script '\(script)'")
        migrationFunction = migration ?? configuration.migration
        self.scheduler = scheduler
        if let schema = configuration.schema { try SchemaValidation.check(schema) }
        let file = try FileOpening.open(configuration, shouldCompact)
        let snapshot = try StoreError.wrapping(Snapshot(file))
        var schemas = try SchemaCatalog.read(snapshot)
        try schemas.choose(for: configuration, snapshot)
        try snapshot.configure(schemas.tableDefinitions)
        fileSchema = schemas
        conversions = ClassConversion.all(of: schemas, toNew: !schemas.isNewVersion)
        view = StoreView(schema: schemas.schema, snapshot: snapshot, isFrozen: false)
        view.threads = configuration.scanThreads
        coordinator = StoreCoordinator.of(file)
        pin = coordinator.pins.add(.store, configuration.holder, version: snapshot.version)
        announcedVersion = snapshot.version
        link.store = self
        do {
            // From here on, the version that the store uses cannot be removed without `force`.
            try markSchema()
            if !configuration.isReadOnly, !(configuration.conversions is any ConversionProvider) {
                plainMark = try mark(Self.plainMark)
            }
            if try StoreError.wrapping(snapshot.advance()) != nil {
                try fileSchema = SchemaCatalog.read(snapshot)
                try fileSchema.choose(for: configuration, snapshot)
                try adopt(SchemaCatalog.bytes(snapshot) ?? [])
            }
            try readRole()
            try SchemaOpening(self).prepare()
            try markSchema()
        } catch {
            // The migration function may have kept a reference to the store.
            release()
            throw error
        }
        pin.move(to: view.version)
        let wakeup = scheduler.makeWakeup { [link] in link.store?.runTurn() }
        self.wakeup = wakeup
        membership = coordinator.join(wakeup, configuration.holder)
        notifications.isObservingHandler = { [coordinator, membership] isObserving in
            coordinator.record(membership, isObserving: isObserving)
        }
        // Commits of other stores since the file was last read did not wake this store.
        if view.snapshot.file.latestVersion() > view.version { requestTurn() }
    }

    deinit {
        link.store = nil
        // `close()` is not called, because no observers remain, and handlers must not run in a deinit.
        queue.ticket?.withdraw()
        outcome?.didRollBack()
        coordinator.leave(membership)
        wakeup?.cancel()
        if !isClosed { view.snapshot.close() }
    }

    /// Closes the store: rolls back an open write, ends all observers, and releases the snapshot.
    ///
    /// Another call has no effect.
    public func close() {
        if !ReadOnlySection.isActive { release() }
    }

    private func release() {
        guard !isClosed else { return }
        notifications.invalidateAll()
        let end = isInWrite ? End.inWrite : .outsideWrite
        if isInWrite { view.snapshot.cancelWrite() }
        outcome?.didRollBack()
        outcome = nil
        self.end = end
        coordinator.leave(membership)
        wakeup?.cancel()
        wakeup = nil
        pin.move(to: .max)
        (schemaMark, plainMark, conversion, exclusion) = (nil, nil, nil, nil)
        view.snapshot.close()
        view.snapshot.file.close()
        abandonQueuedWrites()
    }

    /// Throws `closed` if the open write was rolled back because the store was closed.
    func checkWriteEnd() throws {
        guard end == .inWrite else { return }
        throw StoreError(.closed, "the store was closed inside of the write, which was rolled back")
    }

    /// The file's path; nil for a store in memory.
    public var path: String? {
        if case .file(let path) = configuration.location { path } else { nil }
    }

    /// The store's name in messages: its path in quotes.
    package var title: String { path.map { "'\($0)'" } ?? "a store in memory" }

    /// The file to watch for commits of other processes; nil for a store in memory.
    ///
    /// Other processes read from it after every commit, and close it when they end or crash; after both, the host calls
    /// ``fileMayHaveChanged()``.
    package var commitSignalPath: String? {
        path == nil || isClosed ? nil : view.snapshot.file.commitSignalPath
    }

    /// Whether a write transaction is open.
    public var isInWrite: Bool { view.snapshot.write != nil }

    /// Whether the store refuses changes.
    public var isReadOnly: Bool { configuration.isReadOnly }

    /// The version that reads see.
    public var version: UInt64 { view.version }

    /// The current schema.
    public var schema: Schema { view.schema }

    /// Throws `closed` or `wrong_thread` if the calling thread cannot use the store now.
    package func check() throws {
        guard scheduler.isOnThread else {
            throw StoreError(
                .wrongThread,
                "this store belongs to another thread; open the file again on this one")
        }
        guard !isClosed else {
            throw StoreError(.closed, "the store was closed; open it again to use it")
        }
    }
}

extension Store {
    /// Moves to the newest version and notifies observers before it returns.
    ///
    /// Returns whether the version changed.
    ///
    /// Returns false without any effect inside a write transaction, an observer or a default function. Throws `closed`,
    /// `wrong_thread`, `file_replaced`, and the errors of reading the file.
    @discardableResult  // because many callers only need the delivery
    public func refresh() throws -> Bool {
        try check()
        guard !isInWrite, !notifications.isDelivering, !ReadOnlySection.isActive else {
            return false
        }
        let hasMoved = try advance()
        notifications.deliver()
        return hasMoved
    }

    /// Runs in a turn of the event loop: advances to the newest version with autorefresh, and delivers pending changes.
    ///
    /// Without autorefresh, a newer version is announced instead.
    func runTurn() {
        guard !isClosed else { return }
        guard !isInWrite, !notifications.isDelivering else {
            hasMissedTurn = true
            return
        }
        guard !ReadOnlySection.isActive else { return requestTurn() }
        do {
            if autorefresh {
                _ = try advance()
            } else {
                let latest = view.snapshot.file.latestVersion()
                if latest > max(view.version, announcedVersion) {
                    announcedVersion = latest
                    notifications.announceRefreshRequired()
                }
            }
            if !isClosed, !isInWrite { notifications.deliver() }
        } catch {
            notifications.report(error)
        }
        runQueuedWrite()
    }

    /// Reads the newest version if another process may have committed; the host calls it on the store's thread.
    ///
    /// Costs one load if no process has committed.
    package func fileMayHaveChanged() {
        guard !isClosed,
            view.snapshot.file.latestVersion() != view.version || !view.snapshot.isUnchanged
        else { return }
        runTurn()
    }

    /// Requests a turn from the scheduler.
    func requestTurn() {
        wakeup?.wake()
    }

    /// Requests a turn if one was skipped during a write or a delivery, or if queued writes wait for one.
    func requestMissedTurn() {
        guard hasMissedTurn || !queue.isEmpty else { return }
        hasMissedTurn = false
        requestTurn()
    }

    /// A function that requests a turn of this store's thread, on any thread.
    var anyThreadWakeup: @Sendable () -> Void { { [wakeup] in wakeup?.wake() } }

    /// Calls the storage; if another program has changed the file, observers also receive the error.
    func reportingReplacement<Result>(
        _ call: () throws(StorageError) -> Result
    ) throws -> Result {
        do { return try StoreError.wrapping(call) } catch {
            if error.code == .fileReplaced { notifications.fail(error) }
            throw error
        }
    }

    private func advance() throws -> Bool {
        let left = try reportingReplacement { () throws(StorageError) in
            let left = try view.snapshot.advance(willMove)
            if left == nil { try view.snapshot.file.requireInPlace() }
            return left
        }
        guard let left else {
            // An earlier attempt has failed, so the store still has the schema of another version.
            try reloadSchema(after: view.version)
            return false
        }
        try didLeave(left)
        return true
    }

    /// The function that calls observers before the store moves; nil if there are none to call.
    var willMove: ((Snapshot) -> Void)? {
        notifications.earlyObservers.isEmpty ? nil : { [self] in announce($0) }
    }

    /// Calls the observers of a change before the store moves to a newer version.
    private func announce(_ next: Snapshot) {
        do {
            var schema = view.schema
            if let bytes = try SchemaCatalog.bytes(next), bytes != catalog {
                let schemas = try SchemaCatalog.decodeFile(bytes, of: next.file)
                    .following(fileSchema)
                schema = schemas.schema
                try next.configure(schemas.tableDefinitions)
            }
            try notifications.willMove(
                from: view, to: StoreView(schema: schema, snapshot: next, isFrozen: true),
                next.changes(from: view.version, to: next.version))
        } catch {
            // because: the move reports what makes the newer version unreadable.
            notifications.report(error)
        }
    }

    /// Calls the observers of a change before the open write is committed.
    private func announceCommit(silencing tokens: [NotificationToken]) throws {
        guard !notifications.earlyObservers.isEmpty, let session = view.snapshot.write else {
            return
        }
        let (before, changes) = try StoreError.wrapping { () throws(StorageError) in
            (try view.snapshot.frozen(), try session.changes())
        }
        try notifications.willMove(
            from: StoreView(schema: committedSchema, snapshot: before, isFrozen: true), to: view,
            changes, silencing: tokens)
    }

    /// Updates the store after its snapshot has moved to another version.
    func didLeave(_ snapshot: Snapshot) throws {
        let left = StoreView(schema: view.schema, snapshot: snapshot, isFrozen: true)
        view.recordChange()
        pin.move(to: view.version)
        advanceHandler?()
        try reloadSchema(after: left.version)
        recordOtherCommits(after: left.version)
        notifications.didAdvance(leaving: left)
    }

    /// Loads the schema after a commit that also moved the store beyond commits of other processes.
    func followSchema(after version: UInt64) {
        // because: the commit has succeeded, so its caller must not receive an error.
        do { try reloadSchema(after: version) } catch { notifications.report(error) }
    }

    /// Loads the schema of the current version if another process has changed it.
    func reloadSchema(after version: UInt64) throws {
        guard view.snapshot.mayHaveNewMetadata else { return }
        if let bytes = try SchemaCatalog.bytes(view.snapshot), bytes != catalog {
            var (schema, known, since) = (view.schema, fileSchema, version)
            let changes = try pastSchemas().changes(after: version, present: bytes)
            try adopt(bytes)
            for (version, bytes) in changes {
                let next = try SchemaCatalog.decodeFile(bytes, of: view.snapshot.file)
                    .following(known)
                let isLast = version == changes.last?.version
                let event = try recordSchemaChange(
                    to: isLast ? view.schema : next.schema, after: since, known.transition,
                    next.transition)
                schema = (isLast ? view.schema : next.schema).following(schema, event)
                (known, since) = (next, version)
            }
            view.schema = schema
        }
        try markSchema()
        try readRole()
        view.snapshot.didReadMetadata()
    }

    /// Records a committed change of the schema for observers.
    @discardableResult  // because the store's own changes need no record of removed names
    private func recordSchemaChange(
        to schema: Schema, after version: UInt64, _ before: SchemaTransition?,
        _ after: SchemaTransition?
    ) throws -> SchemaEvent {
        let event = try SchemaEvent(
            schema, in: view.snapshot, since: version, from: before, to: after)
        lastSchemaEvent = event
        notifications.owedSchemas.append(event)
        return event
    }

    /// The schema version that other processes see.
    var schemaMarkNumber: UInt64? { schemaMark?.number }

    /// Shows other processes the version of the committed schema; waits while a program removes it.
    private func markSchema() throws {
        let number = committedSchema.version
        if schemaMark?.number != number { schemaMark = try mark(number) }
    }

    private func mark(_ number: UInt64) throws -> FileMark {
        while true {
            if let mark = try StoreError.wrapping(view.snapshot.file.mark(number)) { return mark }
            try waitHandler?(self)
            try StoreError.step()
        }
    }

    /// Adopts a schema in its stored form; no bytes mean an empty schema.
    func adopt(_ bytes: [UInt8]) throws {
        let schemas = try SchemaCatalog.decodeFile(bytes, of: view.snapshot.file)
            .following(fileSchemaBeforeWrite ?? fileSchema)
        var schema = schemas.schema
        if isReadOnly, let declared = configuration.schema {
            schema = ReadOnlySchema.schema(schema, with: declared)
        }
        let tables =
            schemas.tableDefinitions
            + schema.classes.filter { schemas.schema.find(table: $0.table) == nil }
            .map(schema.tableDefinition)
        let kept = Set(tables.map(\.id))
        let known = Set(fileSchema.tableDefinitions.map(\.id) + view.schema.classes.map(\.table))
        catalog = bytes
        fileSchema = schemas
        (schemaBeforeWrite, fileSchemaBeforeWrite) = (nil, nil)
        inserterCache.didChangeSchema()
        view.schema = schema
        try view.snapshot.configure(
            tables + known.subtracting(kept).map { TableDefinition(id: $0, columns: []) })
        schemaHandler?()
    }

    /// Reads the schema's bytes while the store is being opened.
    func readCatalog() throws { catalog = try SchemaCatalog.bytes(view.snapshot) ?? [] }

    /// Writes the schema's bytes, in the open write transaction, which has adopted the schema.
    func writeCatalog(_ bytes: [UInt8], _ session: WriteSession) throws {
        try keepPastSchema(before: bytes, session)
        let isSame =
            fileSchema.transition == nil && fileSchemaBeforeWrite?.transition == nil
            && view.schema.hasSameClasses(as: committedSchema)
        try StoreError.wrapping(
            session.setMetadata(
                SchemaCatalog.name, bytes, effect: isSame ? .schemaVersion : .schema))
        catalog = bytes
    }

    /// Adopts a schema whose tables the open write transaction has already created.
    func adoptInWrite(_ schema: Schema) { adoptInWrite(FileSchema(schema)) }

    /// Adopts the schemas of the file, whose tables the open write transaction has already created.
    func adoptInWrite(_ schemas: FileSchema) {
        schemaBeforeWrite = schemaBeforeWrite ?? view.schema
        fileSchemaBeforeWrite = fileSchemaBeforeWrite ?? fileSchema
        let schemas = schemas.following(fileSchema)
        let schema = schemas.schema
        fileSchema = schemas
        inserterCache.didChangeSchema()
        view.schema = schema
        view.recordChange()
        schemaHandler?()
    }

    /// The schema at a savepoint.
    struct SchemaState {
        fileprivate let schema: Schema
        fileprivate let schemaBeforeWrite: Schema?
        fileprivate let fileSchema: FileSchema
        fileprivate let fileSchemaBeforeWrite: FileSchema?
        fileprivate let catalog: [UInt8]

        init(_ store: Store) {
            schema = store.view.schema
            schemaBeforeWrite = store.schemaBeforeWrite
            fileSchema = store.fileSchema
            fileSchemaBeforeWrite = store.fileSchemaBeforeWrite
            catalog = store.catalog
        }
    }

    /// Restores the schema at a savepoint after the tables were rolled back.
    func restore(_ state: SchemaState) {
        assert(isInWrite, "a savepoint is restored in its write")
        guard catalog != state.catalog else { return }
        catalog = state.catalog
        schemaBeforeWrite = state.schemaBeforeWrite
        fileSchema = state.fileSchema
        fileSchemaBeforeWrite = state.fileSchemaBeforeWrite
        inserterCache.didChangeSchema()
        view.schema = state.schema
        schemaHandler?()
    }

    /// Records that the write transaction after a version was committed; nil while the store is being opened.
    func didCommitSchema(after version: UInt64?) {
        assert(
            (schemaBeforeWrite == nil) == (fileSchemaBeforeWrite == nil),
            "a write keeps both schemas before it, or none")
        guard schemaBeforeWrite != nil else { return }
        let before = fileSchemaBeforeWrite?.transition
        (schemaBeforeWrite, fileSchemaBeforeWrite) = (nil, nil)
        guard let version else { return }
        // because: the commit has succeeded, so its caller must not receive an error.
        do {
            try recordSchemaChange(
                to: view.schema, after: version, before, fileSchema.transition)
            try markSchema()
        } catch {
            notifications.report(error)
        }
    }

    /// Returns the functions of the started migration; nil if it has none, or if the program cannot run them.
    ///
    /// Throws `invalid_argument` if they cannot be loaded.
    func conversionEngine() throws -> (any ConversionEngine)? {
        if let engine { return engine }
        guard let code = try ConversionCode.read(view.snapshot) else { return nil }
        engine = try makeEngine(code)
        return engine
    }

    /// Returns an engine for the code of a migration; nil if the program has none.
    func makeEngine(_ code: ConversionCode) throws -> (any ConversionEngine)? {
        try (configuration.conversions as? any ConversionProvider)?.makeEngine(code)
    }

    /// Returns the outcome of the open write, for references to its objects.
    func outcomeOfWrite() -> WriteOutcome {
        if let outcome { return outcome }
        let created = WriteOutcome()
        outcome = created
        return created
    }

    /// Reports the outcome of the write to the holders of references.
    func settleOutcome(isCommitted: Bool) {
        guard let outcome else { return }
        if isCommitted { outcome.didCommit(as: version) } else { outcome.didRollBack() }
        self.outcome = nil
    }

    /// Returns the last committed version.
    func committedView() throws -> StoreView {
        StoreView(
            schema: committedSchema,
            snapshot: try StoreError.wrapping(view.snapshot.frozen()), isFrozen: true)
    }

    /// Records that a migration's function begins, during which the write transaction cannot be ended.
    func didBeginMigration() { isMigrating = true }

    /// Records that a migration's function has ended.
    func didEndMigration() { isMigrating = false }

    /// Commits the snapshot's write and wakes the other stores of the file.
    ///
    /// The other stores are woken before this one moves to the new version, because their threads take a while to wake.
    /// Returns the previous version if `keepingLeft` is true.
    @discardableResult  // because: the previous version is returned only on request
    func commitSnapshot(
        keepingLeft: Bool = false, silencing tokens: [NotificationToken] = []
    ) throws -> Snapshot? {
        // Observers and openers must not wait for each other.
        defer { exclusion = nil }
        do {
            if !conversions.isEmpty, let transition = fileSchema.transition,
                let session = view.snapshot.write
            {
                try Conversion(self, transition, session).run()
            }
            if !view.schema.classesWithRules.isEmpty, let session = view.snapshot.write {
                try RuleCheck(self, session).check()
            }
            try announceCommit(silencing: tokens)
            // The process may have been stopped since the write began.
            try checkRole()
        } catch {
            view.snapshot.cancelWrite()
            throw error
        }
        recordAuthor()
        let left = try StoreError.wrapping(
            view.snapshot.commit(keepingLeft: keepingLeft) {
                coordinator.didCommit(membership)
            })
        assert(!isInWrite, "a commit ends the write")
        pin.move(to: view.version)
        advanceHandler?()
        return left
    }
}
