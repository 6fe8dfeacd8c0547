// StoreBindings: what a script sees of the store.
//
// One `StoreModule` belongs to one Lua state and one thread. It makes the `moonpool` module, opens stores for the
// script, holds what they share (classes, tokens, dates) and ends them. It knows no event loop: what it needs of one
// comes from its `BindingHost`.
//
// Lifetimes: the module holds every open store. Live objects in Lua are bare keys of a class; the class holds its
// store's handle. Observers are held by their tokens in Lua only, so a token that is collected ends its observer, also
// when the callback refers to the token.

import LuaHost
import ObjectStore

/// What the bindings need of the program around them.
///
/// Used on the script's thread only.
package protocol BindingHost: AnyObject {
    /// The thread that the script's stores belong to.
    var scheduler: any Scheduler { get }
    /// Keeps the script running until the hold is released: one for each valid token and each queued write.
    func hold() -> any BindingHold
    /// The handler of an observer or of a queued write has failed. `token` is the observer's token in Lua, or nil.
    func report(_ error: any Error, from observer: String, token: LuaValue)
    /// A store was opened: watch its file, if it has one, and call `Store.fileMayHaveChanged` when it changes.
    func didOpen(_ store: Store)
    /// A store was closed.
    func didClose(_ store: Store)
    /// Something that surprises people has happened for the first time; the text explains it.
    func hint(_ text: String)
    /// What the script is called in reports.
    var scriptName: String { get }
    /// The script as other threads see it; nil where there are none.
    var link: (any RemoteScript)? { get }
    /// The script that a value of this script stands for, such as a worker.
    func remoteScript(_ value: LuaValue) -> (any RemoteScript)?
    /// How a value of the host, such as a worker, is shown, and what a script can name on it; nil for all others.
    func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])?
    /// Runs a job on another script's thread and waits until it is done.
    ///
    /// Throws `closed` if that script ends before, `interrupted` when this one is stopped.
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
    /// Lets go. Once is enough.
    func release()
}

/// The store as one script sees it.
///
/// Confined to the thread of its state.
package final class StoreModule {
    /// The Lua state of the script.
    package let state: LuaState
    /// The table that `require "moonpool"` returns.
    ///
    /// Hosts add their own functions to it.
    package let table: LuaTable

    /// What the script may do with the stores that it opens.
    package var rights = StoreRights()

    weak var host: (any BindingHost)?
    /// The open stores with what scripts call them, in the order of opening.
    package private(set) var handles: [StoreHandle] = []
    let scheduler: any Scheduler
    let dates: DateClass
    /// Knows the effect or computed value that is running.
    package let readScope = ReadScope()
    let null: LuaValue
    private(set) lazy var changeMetatables = ChangeMetatables(state)
    // Token userdata by number, weakly, and the callback by token userdata: a callback that refers to its own token
    // does not keep it alive.
    private let tokensByNumber: LuaTable
    private let callbacksByToken: LuaTable
    // Token userdata by number that the script need not hold itself.
    private let keptTokens: LuaTable
    private var tokens: [Int: WeakToken] = [:]
    // So many, and those that are gone are looked for.
    private var tokenRoom = 64
    private var lastToken = 0
    private var hasHinted = false
    private var isClosing = false
    /// The line of another script whose call is being carried out here; mostly empty.
    var senderPlace = ""
    /// Surrounds each call of an observer, for hosts that tell apart what observers print; nil costs nothing.
    ///
    /// It has to make the call, and to pass on what it throws.
    package var aroundCalls: ((_ token: TokenHandle, _ call: () throws -> Void) throws -> Void)?
    /// Called some fifty times a second while a write waits for another writer; an error ends the wait.
    package var whileWaiting: (() throws -> Void)?
    /// Applies the migrations of a folder to a store before it is opened with `migrations = "DIR"`, up to a schema version.
    package var migrator: ((_ store: String, _ folder: String, _ version: UInt64?) throws -> Void)?
    /// Whether what a main chunk still reaches when it returns is observed from then on.
    ///
    /// For scripts: the chunk's locals would be garbage afterwards. True while the chunk runs.
    package var keepsMainChunk = false {
        didSet {
            state.onMainReturn = keepsMainChunk ? { [weak self] in self?.keepObservers() } : nil
        }
    }

    /// Makes the module and puts it under `package.loaded.moonpool`.
    ///
    /// The host is held weakly.
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

    /// The tokens whose observers may still be called, in the order of their making.
    package var activeTokens: [TokenHandle] {
        tokens = tokens.filter { $0.value.token != nil }
        return tokens.sorted { $0.key < $1.key }.compactMap(\.value.token).filter(\.isValid)
    }

    /// Ends every observer: nothing is called again.
    package func endObservers() {
        for token in activeTokens { token.invalidate() }
    }

    /// Holds the tokens that are valid now until they end.
    ///
    /// For the end of a script's main chunk, whose locals would be garbage from then on: what was
    /// observed at the top of a script is observed as long as the script runs. Tokens that the chunk
    /// had let go of have been collected before (see ``keepsMainChunk``), so they are not among them.
    package func keepObservers() {
        for token in activeTokens where keptTokens[token.number].isNil { keep(token) {} }
    }

    /// Holds a token until it ends, and calls the handler then.
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

    /// Opens a store for the script, or gives the one that is already open at the same place.
    ///
    /// `shouldCompact` and `migration` as ``Store/init(_:scheduler:migration:shouldCompact:whileWaiting:)`` says; functions that are
    /// defaults in `schema` hold for what a migration creates.
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
        // Objects that a migration leaves in the script's variables are those of the opened store.
        var migrated: StoreHandle?
        let store = try Store(
            configuration, scheduler: scheduler,
            migration: migration.map { function in
                { migration in
                    let handle = StoreHandle(self, migration.store)
                    migrated = handle
                    try MigrationHandle.run(function, migration, handle, defaults: schema)
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

    /// An open store as scripts hold it.
    package func value(of handle: StoreHandle) -> LuaValue {
        state.userdata(handle, StoreHandle.type)
    }

    func didClose(_ handle: StoreHandle) {
        handles.removeAll { $0 === handle }
        // Those that are called on other threads have stores of their own there.
        for token in activeTokens where token.store === handle { token.invalidate() }
        host?.didClose(handle.store)
    }

    /// Passes on the error of an observer, an effect or a queued write.
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
    /// Makes the token of an observer that calls `callback`.
    ///
    /// `observe` gets a function that makes the call.
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

    /// Makes the token of an observation that calls no callback of this token: of an effect, or of an observer that
    /// another thread calls.
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

    /// The token of this number, if a script still holds it.
    func token(_ number: Int) -> TokenHandle? { tokens[number]?.token }

    /// The script and its line that is calling, for reports of who holds a version.
    var holder: VersionHolder {
        VersionHolder(script: host?.scriptName ?? "", place: callPlace)
    }

    /// The line of the script that is calling, for reports; that of another script where it calls here.
    var callPlace: String {
        if !senderPlace.isEmpty { return senderPlace }
        for level in 0..<8 {
            guard let frame = state.frame(level: level) else { break }
            if frame.isLua { return "\(frame.source):\(frame.line)" }
        }
        return ""
    }

    /// A token that was still valid was collected as garbage.
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
