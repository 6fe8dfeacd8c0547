// StoreBindings: the script interface of stores.
//
// One `StoreModule` belongs to one Lua state and one thread. It creates the `moonpool` module, opens stores for the
// script, owns their shared state (classes, tokens, dates) and closes them. Its `BindingHost` provides the event loop.
//
// Lifetimes: the module retains every open store. A live object in Lua is only a key and a class, and the class retains
// the handle of its store. Only tokens in Lua retain observers, so a token that is collected ends its observer, even if
// the callback refers to the token.

import LuaHost
import ObjectStore

/// The services of the surrounding program that the bindings need.
///
/// Called on the script's thread only.
package protocol BindingHost: AnyObject {
    /// The thread that the script's stores belong to.
    var scheduler: any Scheduler { get }
    /// Keeps the script running until the hold is released; each valid token and each queued write has a hold.
    func hold() -> any BindingHold
    /// Reports that the function of an observer or of a queued write has failed; `token` is the observer's token in
    /// Lua, or nil.
    func report(_ error: any Error, from observer: String, token: LuaValue)
    /// Handles the opening of a store: watches its file, if it has one, and calls `Store.fileMayHaveChanged` when the
    /// file changes.
    func didOpen(_ store: Store)
    /// Handles the closing of a store.
    func didClose(_ store: Store)
    /// Shows an explanation of surprising behavior when it first occurs.
    func hint(_ text: String)
    /// The name of the script in reports.
    var scriptName: String { get }
    /// The script's handle for other threads; nil if there are no other scripts.
    var link: (any RemoteScript)? { get }
    /// Returns the script that a value of this script represents, such as a worker.
    func remoteScript(_ value: LuaValue) -> (any RemoteScript)?
    /// Returns the text and the members of a value of the host, such as a worker; nil for other values.
    func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])?
    /// Runs a job on another script's thread and waits for its end.
    ///
    /// Throws `closed` if that script ends first, and `interrupted` if this script is stopped.
    func run(on script: any RemoteScript, _ job: @escaping @Sendable (StoreModule) -> Void) throws
}

extension BindingHost {
    /// An empty name, by default.
    package var scriptName: String { "" }
    /// Nil, by default.
    package var link: (any RemoteScript)? { nil }
    /// Returns nil, by default.
    package func remoteScript(_ value: LuaValue) -> (any RemoteScript)? { nil }
    /// Returns nil, by default.
    package func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])? { nil }
    /// Throws by default, because there is no other script.
    package func run(
        on script: any RemoteScript, _ job: @escaping @Sendable (StoreModule) -> Void
    ) throws {
        throw StoreError(.closed, "the other script has ended")
    }
}

/// Keeps a script running until it is released or dropped.
package protocol BindingHold: AnyObject {
    /// Releases the hold; idempotent.
    func release()
}

/// The stores and observers of one script.
///
/// Confined to the thread of its state.
package final class StoreModule {
    /// The Lua state of the script.
    package let state: LuaState
    /// The table that `require "moonpool"` returns.
    ///
    /// Hosts add their own functions to the table.
    package let table: LuaTable

    /// The members that the host has added to the objects of classes, by class name.
    var hostMembers: [String: [String: HostMember]] = [:]

    /// The script's permissions for the stores that it opens.
    package var rights = StoreRights()

    weak var host: (any BindingHost)?
    /// The open stores in the order of opening.
    package private(set) var handles: [StoreHandle] = []
    /// The default store of the script and the configuration that it was opened with.
    private var openDefault: (configuration: LuaValue, handle: StoreHandle)?
    let scheduler: any Scheduler
    let dates: DateClass
    /// The scope that records reads for the running effect or computed value.
    package let readScope = ReadScope()
    /// `moonpool.null`.
    package let null: LuaValue
    let json: LuaJSON
    private(set) lazy var changeMetatables = ChangeMetatables(state)
    // Maps numbers to token userdata (weakly), and token userdata to callbacks, so that a callback that refers to its
    // own token does not keep it alive.
    private let tokensByNumber: LuaTable
    private let callbacksByToken: LuaTable
    // Maps numbers to token userdata, for tokens that stay active without a reference from the script.
    private let keptTokens: LuaTable
    private var tokens: [Int: WeakToken] = [:]
    // The number of tokens at which the entries of released tokens are removed.
    private var tokenCapacity = 64
    private var lastToken = 0
    private var lastHiddenToken = 0
    private var hasHinted = false
    private var isClosing = false
    /// The source location in another script whose call is running on this thread; usually empty.
    private var senderLocation = ""
    /// Wraps each call of an observer, for hosts that separate the output of observers; nil for no wrapper.
    ///
    /// The function must run the call and rethrow its errors.
    package var aroundCalls: ((_ token: TokenHandle, _ call: () throws -> Void) throws -> Void)?
    /// Runs about fifty times a second while a write waits for another writer.
    ///
    /// An error that it throws ends the wait. Without the function, the host receives a hint after a second.
    package var whileWaiting: ((Store) throws -> Void)?
    /// Asks the user if `define` would lose data; with nil, `define` throws an error.
    ///
    /// Returning true has the same effect as `force = true`.
    package var confirmsLoss: ((_ preview: [LossPreview]) throws -> Bool)?
    /// Applies the migrations of a folder to a store before it is opened with `migrations = "DIR"`, up to a schema
    /// version.
    package var migrator: ((_ store: String, _ folder: String, _ version: UInt64?) throws -> Void)?
    /// Writes the changes of a store's schema since a version as migrations of a folder; see `store:migration_since`.
    ///
    /// Returns a table with the `report` and its `lines`, or nil if the schema has not changed.
    package var sessionMigrator:
        (
            (_ store: StoreHandle, _ version: UInt64?, _ name: String?, _ folder: String) throws ->
                LuaValue
        )?
    /// Runs a function at the writer of a store's cluster; see `store:remote_write`.
    package var remoteWriter:
        (
            (_ store: StoreHandle, _ name: String, _ arguments: LuaValue, _ timeout: LuaValue)
                throws
                -> LuaValue
        )?
    /// Returns the source of a chunk by its name in messages; nil if it is not known.
    package var chunkSource: ((_ chunk: String) -> String?)?
    /// Whether observers whose tokens are reachable when a main chunk returns stay active.
    ///
    /// Used for scripts, because the locals of a main chunk become garbage when the chunk ends. True while the main
    /// chunk runs.
    package var keepsMainChunk = false {
        didSet {
            state.onMainReturn = keepsMainChunk ? { [weak self] in self?.keepObservers() } : nil
        }
    }

    /// Creates the module and stores it in `package.loaded.moonpool`.
    ///
    /// The host is referenced weakly.
    package init(state: LuaState, host: any BindingHost) {
        self.state = state
        self.host = host
        scheduler = host.scheduler
        table = state.makeTable(fields: 48)
        dates = DateClass()
        state.register(dates, name: "date", methods: DateClass.methods, properties: DateClass.names)
        null = state.userdata(NullMarker(), NullMarker.type)
        json = LuaJSON(state: state, null: null, dates: dates)
        tokensByNumber = Self.weakTable(state, "v")
        callbacksByToken = Self.weakTable(state, "k")
        keptTokens = state.makeTable()
        ModuleFunctions(self).install()
        state.loadedModules?["moonpool"] = .table(table)
    }

    /// Returns the store that a value of Lua represents; nil for other values.
    package func store(_ value: LuaValue) -> StoreHandle? {
        value.userdata?.object(as: StoreHandle.type)
    }

    /// The open stores, in the order of opening.
    package var openStores: [Store] { handles.map(\.store) }

    /// The tokens of active observers that are not hidden, in the order of creation.
    package var activeTokens: [TokenHandle] { validTokens.filter { $0.number > 0 } }

    private var validTokens: [TokenHandle] {
        tokens = tokens.filter { $0.value.token != nil }
        return tokens.sorted { $0.key < $1.key }.compactMap(\.value.token).filter(\.isValid)
    }

    /// Ends every observer; their callbacks do not run again.
    package func endObservers() {
        for token in validTokens { token.invalidate() }
    }

    /// Retains the currently valid tokens until they end.
    ///
    /// Call it at the end of a script's main chunk, whose locals then become garbage, so that observers at the top
    /// level of a script stay active while the script runs. Tokens that the chunk has already released have been
    /// collected before (see ``keepsMainChunk``).
    package func keepObservers() {
        for token in activeTokens where keptTokens[token.number].isNil { keep(token) {} }
    }

    /// Retains a token until it ends, and then calls the handler.
    func keep(_ token: TokenHandle, _ didEnd: @escaping () -> Void) {
        let number = token.number
        keptTokens[number] = value(of: token)
        token.endHandler = { [weak self] in
            self?.keptTokens[number] = .nil
            didEnd()
        }
    }

    /// Ends all tokens, rolls back open writes, and closes all stores.
    ///
    /// Call it before the state is closed.
    package func close() {
        isClosing = true
        endObservers()
        for handle in handles { handle.close() }
        handles = []
        openDefault = nil
    }

    /// Opens a store for the script, or returns the open store of the same file.
    ///
    /// For `shouldCompact` and `migration` see ``Store/init(_:scheduler:migration:shouldCompact:whileWaiting:)``.
    /// The default functions of `schema` apply to objects that a migration creates.
    package func open(
        _ configuration: StoreConfiguration, shouldCompact: ((Int, Int) throws -> Bool)? = nil,
        migration: LuaFunction? = nil, defaults schema: DeclaredSchema? = nil
    ) throws -> StoreHandle {
        if let known = handles.first(where: { $0.isAt(configuration.location) }) {
            try known.checkSameOptions(configuration)
            return known
        }
        try rights.checkCount(handles.count)
        var configuration = configuration
        configuration.holder = holder
        configuration.conversions = ScriptConversions()
        // Objects that a migration stores in the script's variables belong to the opened store.
        var migrated: StoreHandle?
        let wait = WriteWait { [weak self] in self?.host?.hint(WriteWait.text($0)) }
        let store = try Store(
            configuration, scheduler: scheduler,
            migration: migration.map { function in
                { migration in
                    let handle = StoreHandle(self, migration.store)
                    migrated = handle
                    try MigrationHandle.call(
                        function, with: migration, on: handle, defaults: schema)
                }
            }, shouldCompact: shouldCompact,
            whileWaiting: { [weak self] store in
                try self?.state.checkStopping()
                wait.record(store)
                try self?.whileWaiting?(store)
            })
        let handle = migrated ?? StoreHandle(self, store)
        store.notifications.errorHandler = { [weak self] error, token in
            self?.report(error, self?.handle(of: token))
        }
        handles.append(handle)
        host?.didOpen(store)
        return handle
    }

    /// Returns the default store, which is opened with the arguments in `moonpool.default_configuration`, or as the file
    /// `default.moonpool`.
    ///
    /// The store remains the default one until it is closed or the configuration is another value.
    func defaultStore(_ open: LuaFunction) throws -> StoreHandle {
        let configuration = table["default_configuration"]
        if let (known, handle) = openDefault, known == configuration, !handle.store.isClosed {
            return handle
        }
        let opened = try open.call([
            configuration.isNil ? .text("default.moonpool") : configuration
        ])
        guard let handle = opened.first?.userdata?.object(as: StoreHandle.type) else {
            throw StoreError(.invalidArgument, "moonpool.open returned no store")
        }
        openDefault = (configuration, handle)
        return handle
    }

    /// Returns an open store as a script value.
    package func value(of handle: StoreHandle) -> LuaValue {
        state.userdata(handle, StoreHandle.type)
    }

    func didClose(_ handle: StoreHandle) {
        handles.removeAll { $0 === handle }
        // They can keep versions of the file.
        handle.definitions = []
        // Observers on other threads use their own stores.
        for token in validTokens where token.store === handle { token.invalidate() }
        host?.didClose(handle.store)
    }

    /// Reports the error of an observer, an effect or a queued write.
    func report(_ error: any Error, _ token: TokenHandle?) {
        host?.report(
            error, from: token?.title ?? "a queued write", token: token.map(value(of:)) ?? .nil)
    }

    static func weakTable(_ state: LuaState, _ mode: String) -> LuaTable {
        let table = state.makeTable()
        let metatable = state.makeTable(fields: 1)
        metatable["__mode"] = .text(mode)
        table.metatable = metatable
        return table
    }
}

extension StoreModule {
    /// Creates the token of an observer that calls `callback`.
    ///
    /// `observe` receives a function that runs the call. Hidden observers have negative numbers.
    func makeToken(
        name: String, subject: String, keyPaths: [String] = [], once: Bool, isHidden: Bool = false,
        _ store: StoreHandle, _ callback: LuaFunction,
        _ observe: (@escaping ([LuaValue]) throws -> Void) throws -> NotificationToken
    ) throws -> LuaValue {
        let number = isHidden ? nextHiddenNumber() : nextTokenNumber()
        let token = try observe { [weak self] arguments in
            guard let self, let userdata = tokensByNumber[number].userdata,
                let function = callbacksByToken.raw(.userdata(userdata)).function,
                let token = tokens[number]?.token
            else { return }
            // The initial call and an error have no reason. Ending before the call also excludes nested calls.
            if once, token.reason != nil { token.invalidate() }
            try call(token) { () throws in try function.call(arguments) }
        }
        token.location = callLocation
        let handle = TokenHandle(
            token, name: name, subject: subject, keyPaths: keyPaths, number: number,
            location: token.location, store: store, hold: isHidden ? nil : host?.hold())
        handle.collectedHandler = { [weak self] title in self?.wasCollected(title) }
        if keepsMainChunk { state.watchMainReturn() }
        let value = record(handle)
        callbacksByToken.setRaw(value, .function(callback))
        return value
    }

    /// Runs a call of an observer: measures it, within the wrapper of the host.
    func call(_ token: TokenHandle, _ body: () throws -> Void) throws {
        guard let aroundCalls else { return try token.measured(body) }
        try aroundCalls(token) { () throws in try token.measured(body) }
    }

    /// Creates the token of an observation without a callback: an effect, or an observer whose function runs on another
    /// thread.
    func adopt(
        _ observation: any Observation, number: Int, title: (name: String, subject: String),
        _ store: StoreHandle?
    ) -> LuaValue {
        let handle = TokenHandle(
            observation, name: title.name, subject: title.subject, number: number,
            location: callLocation, store: store, hold: host?.hold())
        handle.collectedHandler = { [weak self] title in self?.wasCollected(title) }
        if keepsMainChunk { state.watchMainReturn() }
        return record(handle)
    }

    private func record(_ handle: TokenHandle) -> LuaValue {
        let value = state.userdata(handle, TokenHandle.type)
        tokensByNumber[handle.number] = value
        if tokens.count >= tokenCapacity {
            tokens = tokens.filter { $0.value.token != nil }
            tokenCapacity = max(64, 2 * tokens.count)
        }
        assert(tokens[handle.number] == nil, "each token has a number of its own")
        tokens[handle.number] = WeakToken(handle)
        return value
    }

    func nextTokenNumber() -> Int {
        lastToken += 1
        return lastToken
    }

    private func nextHiddenNumber() -> Int {
        lastHiddenToken -= 1
        return lastHiddenToken
    }

    /// Returns the token with this number, if a script still references it.
    func token(_ number: Int) -> TokenHandle? { tokens[number]?.token }

    /// The calling script and its line, for reports about retained versions.
    var holder: VersionHolder {
        VersionHolder(script: host?.scriptName ?? "", location: callLocation)
    }

    /// Runs `body` for a call from a source location in another script.
    func answering(callFrom location: String, _ body: () throws -> Void) rethrows {
        senderLocation = location
        defer { senderLocation = "" }
        try body()
    }

    /// The source location of the call in the script, for reports; for a call from another script, the location in that
    /// script.
    var callLocation: String {
        if !senderLocation.isEmpty { return senderLocation }
        for level in 0..<8 {
            guard let frame = state.frame(level: level) else { break }
            // The program's own files are not the script's.
            if frame.isLua, !frame.source.hasPrefix("[moonpool ") {
                return "\(frame.source):\(frame.line)"
            }
        }
        return ""
    }

    /// Reports a valid token that was collected as garbage.
    private func wasCollected(_ title: String) {
        guard !hasHinted, !isClosing, let host else { return }
        hasHinted = true
        host.hint(
            "\(title) has ended because its token was garbage-collected; keep the token that observe returns "
                + "in a variable while the observer is needed")
    }

    private func handle(of token: NotificationToken?) -> TokenHandle? {
        guard let token else { return nil }
        return tokens.values.first { $0.token?.token === token }?.token
    }

    /// Returns a token that scripts still reference as a script value.
    package func value(of token: TokenHandle) -> LuaValue { tokensByNumber[token.number] }
}

private final class WeakToken {
    weak var token: TokenHandle?
    init(_ token: TokenHandle) { self.token = token }
}
