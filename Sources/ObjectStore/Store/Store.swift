import ColumnStorage

/// A live object store, opened by one thread: the access to a file's objects.
///
/// A store holds one snapshot of its file. Reads see that version; `refresh`, a write transaction or (with
/// `autorefresh`) a turn of the thread's event loop moves it to the newest one and notifies observers. Each thread
/// opens its own store of a file; the stores share the file, one writer at a time, across threads and processes.
///
/// Rules: a store and everything that comes from it is used on its scheduler's thread only. Changes
/// need an open write transaction. Closing is final; handles that outlive it refuse to be used.
public final class Store {
    /// How the store was opened.
    public let configuration: StoreConfiguration

    /// The thread that the store belongs to.
    package let scheduler: any Scheduler

    /// The schema and snapshot that reads see; the same object for the store's whole life.
    package let view: StoreView

    /// Whether a turn of the event loop moves the store to the newest version.
    ///
    /// On by default; without it the store's observers receive that a refresh is required.
    public var autorefresh = true

    /// Whether the store was closed.
    public var isClosed: Bool { hasClosed }
    // Not public, so that the compiler sees all code that changes it and need not guard every read.
    private var hasClosed = false

    /// The observers, and their pending reports.
    package private(set) lazy var notifications = NotificationDispatcher(self)

    /// Knows which reaction is running; nil where nothing is tracked.
    package var readScope: ReadScope?
    /// The values that the store updates for its reactions.
    var liveNodes = LiveNodes()

    /// Called when the schema that the store shows has become another one, on the store's thread.
    package var schemaHandler: (() -> Void)?

    /// Called when the store has moved to another version or committed one, on the store's thread.
    package var moveHandler: (() -> Void)?

    /// Called again and again while a write waits for another writer for longer than a moment; what it throws ends
    /// the wait, and is thrown by what would have written.
    let waitHandler: (() throws -> Void)?

    /// The link for holders that must not keep the store alive.
    let link = StoreLink()
    let coordinator: StoreCoordinator
    private let pin: VersionRegistry.Pin
    /// The version that was frozen last, as long as it is held.
    weak var latestFrozen: StoreView?
    /// Older versions that were requested, as long as they are held.
    var pastViews = PastViews()
    private var membership: UInt64 = 0
    private var wakeup: (any Wakeup)?
    private var announcedVersion: UInt64
    /// The writes that wait for their turn.
    var queue = WriteQueue()
    /// Whether a turn of the event loop came when it could not be taken.
    private var hasMissedTurn = false
    /// The outcome of the open write, once it was requested.
    private(set) var outcome: WriteOutcome?
    /// The inserter for single objects.
    var inserterCache = InserterCache()
    /// The functions that create default values; only this store has them.
    let functionDefaults = DefaultFunctions()
    /// The schema's bytes in the file, to notice a change.
    private(set) var catalog: [UInt8] = []
    /// The schema that the open write transaction has changed; nil if it has not.
    private(set) var schemaBeforeWrite: Schema?
    /// The schema of the present version, whatever an open write transaction has done to it.
    var committedSchema: Schema { schemaBeforeWrite ?? view.schema }
    /// Whether a migration's function is running, in the write transaction that ends with it.
    private(set) var isMigrating = false
    /// The function that migrates the file when the store is opened.
    let migrationFunction: ((Migration) throws -> Void)?

    /// Whether the file follows a stream, so that only its follower may write.
    package internal(set) var isFollower = false
    /// Whether this store applies the commits of the stream that the file follows.
    package var isReplicating = false

    /// Opens a store on the calling thread, which must be the scheduler's.
    ///
    /// Creates the file if there is none, and classes that are missing from it. Takes about a
    /// millisecond, whatever the number of objects. Throws `invalid_schema`, `migration_needed`,
    /// `version_too_low`, `duplicate_key` and `missing_value` (found after a migration), `file_corrupt`,
    /// `file_format_too_new`, `read_only`, `disk_full`, `invalid_argument` (cannot be opened or created,
    /// or is to be migrated while this process has it open), and what a migration throws.
    ///
    /// `migration` replaces the configuration's, for a closure that is confined to this thread.
    /// `shouldCompact` is called with the file's bytes and those of them that are in use, when this
    /// is the first store of the file in the process; if it says so the file is compacted, unless
    /// another process has it open. Its errors are thrown. `whileWaiting` is called some fifty times a second while a
    /// write, now or later, waits for another writer; what it throws ends the wait. Without it nothing does.
    public init(
        _ configuration: StoreConfiguration, scheduler: any Scheduler,
        migration: ((Migration) throws -> Void)? = nil,
        shouldCompact: ((_ total: Int, _ used: Int) throws -> Bool)? = nil,
        whileWaiting waitHandler: (() throws -> Void)? = nil
    ) throws {
        self.configuration = configuration
        self.waitHandler = waitHandler
        migrationFunction = migration ?? configuration.migration
        self.scheduler = scheduler
        if let schema = configuration.schema { try SchemaValidation.check(schema) }
        let file = try FileOpening.open(configuration, shouldCompact)
        let snapshot = try StoreError.wrapping { () throws(StorageError) in
            try Snapshot(file)
        }
        let schema = try SchemaCatalog.read(snapshot)
        snapshot.configure(schema.tableDefinitions)
        view = StoreView(schema: schema, snapshot: snapshot, isFrozen: false)
        coordinator = StoreCoordinator.of(file)
        pin = coordinator.pins.add(.store, configuration.holder, version: snapshot.version)
        announcedVersion = snapshot.version
        link.store = self
        do {
            try readRole()
            try SchemaOpening(self).prepare()
        } catch {
            // A migration may have kept the store.
            end()
            throw error
        }
        pin.move(to: view.version)
        let wakeup = scheduler.makeWakeup { [link] in link.store?.takeTurn() }
        self.wakeup = wakeup
        membership = coordinator.join(wakeup)
        notifications.isObservingHandler = { [coordinator, membership] isObserving in
            coordinator.note(membership, isObserving: isObserving)
        }
        // Commits of others since the file was last read did not wake this store.
        if view.snapshot.file.latestVersion() > view.version { requestTurn() }
    }

    deinit {
        link.store = nil
        // Not `close()`: no observer is left, and handlers must not run in a deinit.
        queue.turn?.withdraw()
        outcome?.didRollBack()
        coordinator.leave(membership)
        wakeup?.cancel()
        if !isClosed { view.snapshot.close() }
    }

    /// Ends the store: an open write is rolled back, observers are ended, the snapshot is released.
    ///
    /// Calling it again does nothing.
    public func close() {
        if !ReadOnlySection.isActive { end() }
    }

    private func end() {
        guard !isClosed else { return }
        notifications.invalidateAll()
        if isInWrite { view.snapshot.cancelWrite() }
        outcome?.didRollBack()
        outcome = nil
        hasClosed = true
        coordinator.leave(membership)
        wakeup?.cancel()
        wakeup = nil
        pin.move(to: .max)
        view.snapshot.close()
        view.snapshot.file.close()
        abandonQueuedWrites()
    }

    /// The file's path; nil in memory.
    public var path: String? {
        if case .file(let path) = configuration.location { path } else { nil }
    }

    /// The store's name in messages: its path in quotes.
    package var title: String { path.map { "'\($0)'" } ?? "a store in memory" }

    /// The file to watch for commits of other processes; nil in memory.
    ///
    /// Another process reads from it after every commit, and closes it when it ends, however it ends; the host calls
    /// ``fileMayHaveChanged()`` after both.
    package var commitSignalPath: String? {
        path == nil || isClosed ? nil : view.snapshot.file.commitSignalPath
    }

    /// Whether a write transaction is open.
    public var isInWrite: Bool { view.snapshot.write != nil }

    /// Whether changes are refused.
    public var isReadOnly: Bool { configuration.isReadOnly }

    /// The version that the store shows.
    public var version: UInt64 { view.version }

    /// The schema that the store shows.
    public var schema: Schema { view.schema }

    /// Throws `closed` or `wrong_thread` if the store cannot be used here and now.
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
    /// Moves to the newest version and delivers what that causes, now.
    ///
    /// True if the version moved.
    ///
    /// False, without doing anything, inside a write transaction, an observer and a default function. Throws
    /// `closed`, `wrong_thread`, and what reading the file may throw.
    @discardableResult  // because delivery is the point as often as the answer
    public func refresh() throws -> Bool {
        try check()
        guard !isInWrite, !notifications.isDelivering, !ReadOnlySection.isActive else {
            return false
        }
        let hasMoved = try advance()
        notifications.deliver()
        return hasMoved
    }

    /// Serves a turn of the event loop: with autorefresh, moves on and delivers; without, delivers the pending calls of
    /// this version and reports that there is a newer one.
    func takeTurn() {
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

    /// To be called by the host on the store's thread when another process may have committed.
    ///
    /// Costs one load when none has.
    package func fileMayHaveChanged() {
        guard !isClosed, view.snapshot.file.latestVersion() != view.version else { return }
        takeTurn()
    }

    /// Asks the scheduler for a turn.
    func requestTurn() {
        wakeup?.wake()
    }

    /// Asks for a turn in place of one that came while a write was open or a handler was waiting, or where queued writes
    /// wait for one.
    func requestMissedTurn() {
        guard hasMissedTurn || !queue.isEmpty else { return }
        hasMissedTurn = false
        requestTurn()
    }

    /// Requests a turn of this store's thread, from any other thread.
    var anyThreadWakeup: @Sendable () -> Void { { [wakeup] in wakeup?.wake() } }

    private func advance() throws -> Bool {
        let left = try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.advance()
        }
        guard let left else { return false }
        try didLeave(left)
        return true
    }

    /// Follows the snapshot to the version that it has moved to.
    func didLeave(_ snapshot: Snapshot) throws {
        let left = StoreView(schema: view.schema, snapshot: snapshot, isFrozen: true)
        view.noteChange()
        pin.move(to: view.version)
        try reloadSchema()
        noteOtherCommits(after: left.version)
        notifications.didAdvance(leaving: left)
    }

    /// Takes the schema of a version that a commit has moved past its own to.
    func followSchema() {
        // because: the commit is done, and its caller must not receive an error for it.
        do { try reloadSchema() } catch { notifications.report(error) }
    }

    /// Loads the schema of the present version if another process has changed it.
    private func reloadSchema() throws {
        guard view.snapshot.mayHaveNewSchema else { return }
        if let bytes = try SchemaCatalog.bytes(view.snapshot), bytes != catalog { try adopt(bytes) }
        try readRole()
        view.snapshot.mayHaveNewSchema = false
    }

    /// Shows the schema that the present version stores as these bytes; none for an empty one.
    func adopt(_ bytes: [UInt8]) throws {
        var schema: Schema =
            bytes.isEmpty ? .empty : try SchemaCatalog.decode(bytes, of: view.snapshot.file)
        if isReadOnly, let declared = configuration.schema {
            schema = ReadOnlySchema.schema(schema, with: declared)
        }
        let gone = view.schema.classes.filter { schema.find(table: $0.table) == nil }
        catalog = bytes
        schemaBeforeWrite = nil
        inserterCache.didChangeSchema()
        view.schema = schema
        view.snapshot.configure(
            schema.tableDefinitions + gone.map { TableDefinition(id: $0.table, columns: []) })
        schemaHandler?()
    }

    /// Reads the schema's bytes of a store that is being opened.
    func readCatalog() throws { catalog = try SchemaCatalog.bytes(view.snapshot) ?? [] }

    /// Writes the schema's bytes, in the open write transaction.
    func writeCatalog(_ bytes: [UInt8], _ session: WriteSession) throws {
        try StoreError.wrapping { () throws(StorageError) in
            try session.setMetadata(SchemaCatalog.name, bytes)
        }
        catalog = bytes
    }

    /// Shows a schema that the open write transaction has given its tables already.
    func adoptInWrite(_ schema: Schema) {
        schemaBeforeWrite = schemaBeforeWrite ?? view.schema
        inserterCache.didChangeSchema()
        view.schema = schema
        view.noteChange()
        schemaHandler?()
    }

    /// The open write transaction was committed.
    func didCommitSchema() { schemaBeforeWrite = nil }

    /// The outcome of the open write.
    func outcomeOfWrite() -> WriteOutcome {
        if let outcome { return outcome }
        let made = WriteOutcome()
        outcome = made
        return made
    }

    /// Reports the outcome of the write to the holders of references.
    func settleOutcome(isCommitted: Bool) {
        guard let outcome else { return }
        if isCommitted { outcome.didCommit(as: version) } else { outcome.didRollBack() }
        self.outcome = nil
    }

    /// Runs a migration's function; the write transaction cannot be ended meanwhile.
    func keepingWriteOpen(_ body: () throws -> Void) throws {
        isMigrating = true
        defer { isMigrating = false }
        try body()
    }

    /// Commits the snapshot's write and wakes the other stores of the file: other threads take a while to wake, and need
    /// not wait until this one has moved to the new version.
    ///
    /// Returns the version that was left, if it is to be kept.
    @discardableResult  // because: it is kept only on request
    func commitSnapshot(keepingLeft: Bool = false) throws -> Snapshot? {
        if !view.schema.classesWithUniqueIndexes.isEmpty, let session = view.snapshot.write {
            do {
                try UniqueIndexCheck(self, session).check()
            } catch {
                view.snapshot.cancelWrite()
                throw error
            }
        }
        noteAuthor()
        let wakeOthers = { [coordinator, membership] in coordinator.didCommit(membership) }
        let left = try StoreError.wrapping { () throws(StorageError) -> Snapshot? in
            if keepingLeft { return try view.snapshot.commit(whenVisible: wakeOthers) }
            try view.snapshot.commitOnly(whenVisible: wakeOthers)
            return nil
        }
        pin.move(to: view.version)
        return left
    }
}
