// StoreBindings: the store as scripts see it.
//
// One `StoreModule` belongs to one Lua state and one thread. It creates the `moonpool` module, opens stores for the
// script, holds what they share (classes, tokens, dates) and ends them. It has no event loop of its own; its
// `BindingHost` provides one.
//
// Lifetimes: the module holds every open store. Live objects in Lua are bare keys of a class; the class holds its
// store's handle. Observers are held by their tokens in Lua only, so a token that is collected ends its observer, also
// when the callback refers to the token.

import LuaHost
import ObjectStore

/// The services of the surrounding program that the bindings need.
///
/// Used on the script's thread only.
package protocol BindingHost: AnyObject {
    /// The thread that the script's stores belong to.
    var scheduler: any Scheduler { get }
    /// Keeps the script running until the hold is released: one for each valid token and each queued write.
    func hold() -> any BindingHold
    /// Reports that the handler of an observer or of a queued write has failed. `token` is the observer's token in Lua,
    /// or nil.
    func report(_ error: any Error, from observer: String, token: LuaValue)
    /// Called when a store was opened: watch its file, if it has one, and call `Store.fileMayHaveChanged` when it
    /// changes.
    func didOpen(_ store: Store)
    /// Called when a store was closed.
    func didClose(_ store: Store)
    /// Explains surprising behavior when it first occurs.
    func hint(_ text: String)
    /// The name of the script in reports.
    var scriptName: String { get }
    /// The script as other threads see it; nil if there are no other scripts.
    var link: (any RemoteScript)? { get }
    /// Returns the script that a value of this script represents, such as a worker.
    func remoteScript(_ value: LuaValue) -> (any RemoteScript)?
    /// Returns how a value of the host, such as a worker, is shown, and which names a script can use on it; nil for all
    /// others.
    func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])?
    /// Runs a job on another script's thread and waits for its end.
    ///
    /// Throws `closed` if that script ends first, and `interrupted` if this script is stopped.
    func run(on script: any RemoteScript, _ job: @escaping @Sendable (StoreModule) -> Void) throws
}

extension BindingHost {
    /// None.
    package var scriptName: String { "" }
    /// None.
    package var link: (any RemoteScript)? { nil }
    /// None.
    package func remoteScript(_ value: LuaValue) -> (any RemoteScript)? { nil }
    /// Nothing.
    package func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])? { nil }
    /// There is no other script.
    package func run(
        on script: any RemoteScript, _ job: @escaping @Sendable (StoreModule) -> Void
    ) throws {
        throw StoreError(.closed, "the other script has ended")
    }
}

/// Keeps a script running until it is released or dropped.
package protocol BindingHold: AnyObject {
    /// Releases the hold. Does nothing the second time.
    func release()
}

/// The stores of one script.
///
/// Confined to the thread of its state.
package final class StoreModule {
    /// The Lua state of the script.
    package let state: LuaState
    /// The table that `require "moonpool"` returns.
    ///
    /// Hosts add their own functions to it.
    package let table: LuaTable

    /// The names that the host has added to the objects of classes, by class.
    var hostMembers: [String: [String: HostMember]] = [:]

    /// The script's permissions for the stores that it opens.
    package var rights = StoreRights()

    weak var host: (any BindingHost)?
    /// The open stores with their names for the script, in the order of opening.
    package private(set) var handles: [StoreHandle] = []
    let scheduler: any Scheduler
    let dates: DateClass
    /// Knows the running effect or computed value.
    package let readScope = ReadScope()
    let null: LuaValue
    private(set) lazy var changeMetatables = ChangeMetatables(state)
    // Maps numbers to token userdata (weakly), and token userdata to callbacks, so that a callback that refers to its
    // own token does not keep it alive.
    private let tokensByNumber: LuaTable
    private let callbacksByToken: LuaTable
    // Token userdata by number, for tokens that the script need not retain.
    private let keptTokens: LuaTable
    private var tokens: [Int: WeakToken] = [:]
    // At this number of tokens, released ones are removed.
    private var tokenRoom = 64
    private var lastToken = 0
    private var hasHinted = false
    private var isClosing = false
    /// The line of another script whose call is running here; usually empty.
    var senderPlace = ""
    /// Wraps each call of an observer, for hosts that separate the output of observers; nil costs nothing.
    ///
    /// The function has to make the call and to pass on its errors.
    package var aroundCalls: ((_ token: TokenHandle, _ call: () throws -> Void) throws -> Void)?
    /// Called about fifty times a second while a write waits for another writer.
    ///
    /// An error ends the wait.
    package var whileWaiting: (() throws -> Void)?
    /// Asks whether `define` may lose data; nil refuses.
    ///
    /// True continues as with `force`.
    package var confirmsLoss: ((_ preview: [LossPreview]) throws -> Bool)?
    /// Applies the migrations of a folder to a store before it is opened with `migrations = "DIR"`, up to a schema version.
    package var migrator: ((_ store: String, _ folder: String, _ version: UInt64?) throws -> Void)?
    /// Whether objects that a main chunk still reaches when it returns are observed from then on.
    ///
    /// For scripts: the chunk's locals would be garbage afterwards. True while the chunk runs.
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
        tokensByNumber = Self.weakTable(state, "v")
        callbacksByToken = Self.weakTable(state, "k")
        keptTokens = state.makeTable()
        ModuleFunctions(self).install()
        state.loadedModules?["moonpool"] = .table(table)
    }

    /// The open stores, in the order of opening.
    package var openStores: [Store] { handles.map(\.store) }

    /// The tokens of active observers, in the order of creation.
    package var activeTokens: [TokenHandle] {
        tokens = tokens.filter { $0.value.token != nil }
        return tokens.sorted { $0.key < $1.key }.compactMap(\.value.token).filter(\.isValid)
    }

    /// Ends every observer: no callback runs again.
    package func endObservers() {
        for token in activeTokens { token.invalidate() }
    }

    /// Retains the currently valid tokens until they end.
    ///
    /// Call it at the end of a script's main chunk, whose locals become garbage then: observers at the top of a script
    /// stay active while the script runs. Tokens that the chunk has already dropped have been collected before (see
    /// ``keepsMainChunk``).
    package func keepObservers() {
        for token in activeTokens where keptTokens[token.number].isNil { keep(token) {} }
    }

    /// Retains a token until it ends, and then calls the handler.
    func keep(_ token: TokenHandle, _ didEnd: @escaping () -> Void) {
        let number = token.number
        keptTokens[number] = userdata(token)
        token.endHandler = { [weak self] in
            self?.keptTokens[number] = .nil
            didEnd()
        }
    }

    /// Ends everything: tokens, open writes (rolled back), stores.
    ///
    /// Call before the state is closed.
    package func close() {
        isClosing = true
        endObservers()
        for handle in handles {
            handle.close()
            handle.forgetClasses()
        }
        handles = []
    }

    /// Opens a store for the script, or returns the open store of the same file.
    ///
    /// For `shouldCompact` and `migration` see ``Store/init(_:scheduler:migration:shouldCompact:whileWaiting:)``.
    /// Default functions in `schema` apply to objects that a migration creates.
    package func open(
        _ configuration: StoreConfiguration, shouldCompact: ((Int, Int) throws -> Bool)? = nil,
        migration: LuaFunction? = nil, defaults schema: LuaTable? = nil
    ) throws -> StoreHandle {
        if let known = handles.first(where: { $0.isAt(configuration.location) }) {
            try known.checkSameOptions(configuration)
            return known
        }
        try rights.checkCount(handles.count)
        var configuration = configuration
        configuration.holder = holder
        // Objects that a migration leaves in the script's variables belong to the opened store.
        var migrated: StoreHandle?
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
            whileWaiting: { [weak self] in
                try self?.state.checkStopping()
                try self?.whileWaiting?()
            })
        let handle = migrated ?? StoreHandle(self, store)
        store.notifications.errorHandler = { [weak self] error, token in
            self?.report(error, self?.handle(of: token))
        }
        handles.append(handle)
        host?.didOpen(store)
        return handle
    }

    /// Returns an open store as a script value.
    package func value(of handle: StoreHandle) -> LuaValue {
        state.userdata(handle, StoreHandle.type)
    }

    func didClose(_ handle: StoreHandle) {
        handles.removeAll { $0 === handle }
        // Observers on other threads have their own stores.
        for token in activeTokens where token.store === handle { token.invalidate() }
        host?.didClose(handle.store)
    }

    /// Reports the error of an observer, an effect or a queued write.
    func report(_ error: any Error, _ token: TokenHandle?) {
        host?.report(
            error, from: token?.title ?? "a queued write", token: token.map(userdata) ?? .nil)
    }

    private static func weakTable(_ state: LuaState, _ mode: String) -> LuaTable {
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
    /// `observe` receives a function that makes the call.
    func makeToken(
        _ name: String, _ subject: String, _ store: StoreHandle, _ callback: LuaFunction,
        _ observe: (@escaping ([LuaValue]) throws -> Void) throws -> NotificationToken
    ) throws -> LuaValue {
        let number = nextTokenNumber()
        let token = try observe { [weak self] arguments in
            guard let self, let userdata = tokensByNumber[number].userdata,
                let function = callbacksByToken.raw(.userdata(userdata)).function
            else { return }
            if let aroundCalls, let token = tokens[number]?.token {
                return try aroundCalls(token) { () throws in try function.call(arguments) }
            }
            try function.call(arguments)
        }
        let handle = TokenHandle(
            token, name: name, subject: subject, number: number, place: callPlace, store: store,
            hold: host?.hold())
        handle.collectedHandler = { [weak self] title in self?.wasCollected(title) }
        if keepsMainChunk { state.watchMainReturn() }
        let value = note(handle)
        callbacksByToken.setRaw(value, .function(callback))
        return value
    }

    /// Creates the token of an observation without a callback: of an effect, or of an observer that another thread
    /// calls.
    func adopt(
        _ observation: any Observation, number: Int, title: (name: String, subject: String),
        _ store: StoreHandle?
    ) -> LuaValue {
        let handle = TokenHandle(
            observation, name: title.name, subject: title.subject, number: number,
            place: callPlace, store: store, hold: host?.hold())
        handle.collectedHandler = { [weak self] title in self?.wasCollected(title) }
        if keepsMainChunk { state.watchMainReturn() }
        return note(handle)
    }

    private func note(_ handle: TokenHandle) -> LuaValue {
        let value = state.userdata(handle, TokenHandle.type)
        tokensByNumber[handle.number] = value
        if tokens.count >= tokenRoom {
            tokens = tokens.filter { $0.value.token != nil }
            tokenRoom = max(64, 2 * tokens.count)
        }
        tokens[handle.number] = WeakToken(handle)
        return value
    }

    func nextTokenNumber() -> Int {
        lastToken += 1
        return lastToken
    }

    /// Returns the token with this number, if a script still holds it.
    func token(_ number: Int) -> TokenHandle? { tokens[number]?.token }

    /// The calling script and its line, for reports about retained versions.
    var holder: VersionHolder {
        VersionHolder(script: host?.scriptName ?? "", place: callPlace)
    }

    /// The calling line of the script, for reports; for a call from another script, the line of that script.
    var callPlace: String {
        if !senderPlace.isEmpty { return senderPlace }
        for level in 0..<8 {
            guard let frame = state.frame(level: level) else { break }
            if frame.isLua { return "\(frame.source):\(frame.line)" }
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

    private func userdata(_ token: TokenHandle) -> LuaValue {
        tokensByNumber[token.number]
    }
}

private final class WeakToken {
    weak var token: TokenHandle?
    init(_ token: TokenHandle) { self.token = token }
}
