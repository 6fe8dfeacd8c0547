// LuaHost: a Lua state as a Swift object.
//
// It runs chunks, exchanges values, provides scripts with functions and classes written in Swift, and converts errors
// in both directions. It does not depend on a store or an event loop.
//
// Threads: a state belongs to the thread that uses it and has no locks. Two operations are permitted on any thread:
// releasing a `LuaReference` (or a value that contains one), and requesting a `LuaInterrupt`.
//
// Caveats:
// * No `longjmp` crosses Swift frames. Lua is called only through `CLuaShims`, whose functions either cannot raise or
//   run in protected mode.
// * In a function that a coroutine calls, every operation automatically uses the stack of the coroutine.
// * `deinit` of an object that Lua collects runs in the middle of script code: it can release references, but must not
//   use the state.
// * A memory account refuses memory while Lua code runs, but not in Swift functions that it calls: these record what
//   they allocate, and the script's next allocation fails. Functions that build large values call `checkMemory`
//   repeatedly.
// * Closing runs the script's finalizers. Values that outlive their state throw an error at every use.

import CLuaShims
import MemoryAccounts

/// A Lua state: globals, loaded chunks, memory.
///
/// Belongs to one thread.
package final class LuaState {
    let main: OpaquePointer
    let home: LuaHome
    var classes: [ObjectIdentifier: OpaquePointer] = [:]
    var methodSets: [ObjectIdentifier: [LuaReference]] = [:]
    var stopErrors: [Int: any ScriptError] = [:]
    /// The results of the program's own Lua files that have run in this state.
    var runtimeFiles: [String: LuaValue] = [:]
    /// Receives the warnings of `warn` and of failing finalizers, if warnings are on.
    package var onWarning: ((String) -> Void)?
    /// The owner of the state, from which the functions of classes obtain their host, because class declarations belong
    /// to no state.
    package weak var host: AnyObject?
    /// Returns the usage of a function or method, by the names of its type and of itself; nil if it is unknown.
    package var usage: ((_ type: String, _ name: String) -> LuaUsage?)?
    /// Returns our name for a member that other libraries have under another name, by the names of class and member.
    package var memberOfOtherLibraries: ((_ type: String, _ name: String) -> String?)?
    /// The files that the functions given to the script may access.
    package var files = FileRights.all
    /// Returns the code and the message of an error of the host that is not a ``ScriptError``; nil for one without a
    /// code.
    package var describesError: ((any Error) -> (code: String, message: String)?)?
    /// Runs when a watched main chunk returns: see ``watchMainReturn()``.
    ///
    /// Unreachable values have just been collected, but the locals of the chunk still exist.
    package var onMainReturn: (() -> Void)?

    /// Creates a state with the given libraries.
    ///
    /// Aborts the process if there is not enough memory for an empty state.
    ///
    /// `ignoresEnvironment` has the effect of `lua -E`: LUA_PATH and LUA_CPATH are ignored. `isConfined` removes the
    /// functions of the libraries that access resources outside of the state or could continue after a stop: `dofile`,
    /// `loadfile` and binary chunks, `__gc`, `string.dump`, and all of `os` except the time functions. In this case the
    /// libraries should be ``LuaLibraries/confined``.
    ///
    /// Memory is charged to `account` after ``countMemory()`` was called.
    package init(
        libraries: LuaLibraries = .all, isConfined: Bool = false, ignoresEnvironment: Bool = false,
        account: MemoryAccount? = nil
    ) {
        home = LuaHome(account: account)
        var calls = shim_host_calls(
            release: { object in
                // because every pointer passed to the shims was retained by passRetained
                if let object { Unmanaged<AnyObject>.fromOpaque(object).release() }
            },
            warn: { owner, text, length in
                guard let owner, let text else { return }
                let home = Unmanaged<LuaHome>.fromOpaque(owner).takeUnretainedValue()
                let bytes = UnsafeRawBufferPointer(start: text, count: length)
                home.state?.onWarning?(String(decoding: bytes, as: UTF8.self))
            },
            main_returned: { owner in
                guard let owner else { return }
                let home = Unmanaged<LuaHome>.fromOpaque(owner).takeUnretainedValue()
                guard let state = home.state, let handler = state.onMainReturn else { return }
                // Values that were reachable only through released references are garbage too.
                home.drain()
                state.collectGarbage()
                handler()
            },
            will_collect: { owner in
                guard let owner else { return }
                Unmanaged<LuaHome>.fromOpaque(owner).takeUnretainedValue().drain()
            },
            charge_memory: { owner, size, manner in
                guard let account = LuaHome.account(owner) else { return true }
                switch Int(manner) {
                case SHIM_CHARGE: return account.grants(size)
                case SHIM_CHARGE_OVERDRAFT: return account.grants(size, beyondLimit: true)
                default:
                    account.record(size)
                    return true
                }
            },
            release_memory: { owner, size in LuaHome.account(owner)?.release(size) },
            memory_pressure: { owner in
                guard let account = LuaHome.account(owner) else { return Int32(SHIM_PRESSURE_NONE) }
                return Int32(account.pressure)
            },
            did_collect: { owner in LuaHome.account(owner)?.didCollect() })
        guard
            let state = shim_open(
                Unmanaged.passUnretained(home).toOpaque(), &calls, account?.limit ?? 0)
        else {
            preconditionFailure("no memory for a Lua state")
        }
        main = state
        home.open(self)
        shim_open_libraries(state, libraries.rawValue, ignoresEnvironment)
        if isConfined { shim_confine(state) }
        shim_capture_standard(state)
        setStopError(LuaInterrupted(), SHIM_STOP_INTERRUPT)
    }

    deinit { close() }

    /// Closes the state: runs its finalizers and `__gc` metamethods, and releases every Swift object that it held.
    ///
    /// Returns the limit that has stopped a finalizer; nil if there is none. Idempotent.
    @discardableResult  // because only programs report the limit
    package func close() -> LuaLimitExceeded? {
        guard home.isOpen else { return nil }
        precondition(!shim_is_running(main), "a Lua state cannot be closed by code that it runs")
        return closeInPlace()
    }

    /// Closes the state while it runs code, as `os.exit(code, true)` of `lua` does.
    ///
    /// Pending `__close` handlers and finalizers run. The running code cannot continue, so the caller must end the
    /// process. Returns the limit that has stopped one of them; nil if there is none.
    package func closeBeforeExit() -> LuaLimitExceeded? {
        home.isOpen ? closeInPlace() : nil
    }

    private func closeInPlace() -> LuaLimitExceeded? {
        home.willClose()
        let reason = shim_close(main)
        home.didClose()
        return stopErrors[Int(reason)] as? LuaLimitExceeded
    }

    /// The release and copyright of Lua, as `lua -v` prints them.
    package static var copyright: String { String(cString: shim_copyright()) }

    /// Whether Lua code of this state is running, in an outer call on this thread.
    package var isRunning: Bool { home.isOpen && shim_is_running(main) }

    /// Whether a stop of the current run was requested, on any thread.
    package var isStopping: Bool { isRunning && shim_stop_asked(main) }

    /// Throws if a stop of the current run was requested, even if the script has caught the stop once.
    ///
    /// For host functions before an action that a stopped run must not perform, such as a commit.
    package func checkStopping() throws(LuaInterrupted) {
        if isStopping { throw LuaInterrupted() }
    }

    /// Throws if the next instruction of the run would raise the error of a stop.
    ///
    /// For host functions after waiting, because the signal that notifies the run may arrive only after they return.
    /// Unlike `checkStopping`, permits the cleanup of a run that has caught the stop.
    package func takeStop() throws(LuaInterrupted) {
        if isRunning && shim_stop_due(main) { throw LuaInterrupted() }
    }

    /// The table of global variables.
    package var globals: LuaTable {
        let L = stack
        shim_push_globals(L)
        return LuaTable(reference: popReference(L))
    }

    /// The table `package.loaded`, which maps module names to the results of `require`.
    ///
    /// Nil without the library.
    package var loadedModules: LuaTable? {
        let L = stack
        shim_push_registry(L)
        let loaded = "_LOADED".utf8CString.withUnsafeBufferPointer { name in
            shim_push_bytes(L, name.baseAddress, name.count - 1)
            shim_rawget(L, -2)
            return value(at: -1, on: L)
        }
        shim_settop(L, shim_top(L) - 2)
        return loaded.table
    }

    /// The stack of the innermost host call; in a function that a coroutine calls, the coroutine's stack.
    var stack: OpaquePointer {
        precondition(home.isOpen, "a closed Lua state was used")
        home.drain()
        let L = shim_current(main)!
        precondition(shim_reserve(L, 12), "Lua stack overflow in a host call")
        return L
    }

    func value(at index: Int32, on L: OpaquePointer) -> LuaValue {
        switch Int(shim_type(L, index)) {
        case SHIM_TBOOLEAN: return .boolean(shim_boolean(L, index))
        case SHIM_TNUMBER:
            return shim_is_integer(L, index)
                ? .integer(shim_integer(L, index)) : .number(shim_number(L, index))
        case SHIM_TSTRING: return .string(string(at: index, on: L))
        case SHIM_TTABLE: return .table(LuaTable(reference: reference(at: index, on: L)))
        case SHIM_TFUNCTION: return .function(LuaFunction(reference: reference(at: index, on: L)))
        case SHIM_TTHREAD: return .thread(LuaCoroutine(reference: reference(at: index, on: L)))
        case SHIM_TUSERDATA, SHIM_TLIGHT:
            return .userdata(LuaUserdata(reference: reference(at: index, on: L)))
        default: return .nil
        }
    }

    /// Returns the name of a member that an access to an object used; a very long name, which no member has, is cut.
    func memberName(at index: Int32, on L: OpaquePointer) -> LuaValue {
        guard Int(shim_type(L, index)) == SHIM_TSTRING,
            shim_rawlen(L, index) > LuaErrorBox.maxMessageBytes
        else { return value(at: index, on: L) }
        var length = 0
        let bytes = UnsafeRawBufferPointer(start: shim_bytes(L, index, &length), count: 200)
        return .text(String(decoding: bytes, as: UTF8.self) + "…")
    }

    func string(at index: Int32, on L: OpaquePointer) -> LuaString {
        var length = 0
        let bytes = shim_bytes(L, index, &length)
        return LuaString(bytes: [UInt8](UnsafeRawBufferPointer(start: bytes, count: length)))
    }

    func reference(at index: Int32, on L: OpaquePointer) -> LuaReference {
        shim_push_copy(L, index)
        return popReference(L)
    }

    func popReference(_ L: OpaquePointer) -> LuaReference {
        LuaReference(home: home, slot: shim_reference(L))
    }

    func pop(_ L: OpaquePointer) -> LuaValue {
        let result = value(at: -1, on: L)
        shim_settop(L, shim_top(L) - 1)
        return result
    }

    func push(_ value: LuaValue, on L: OpaquePointer) {
        switch value {
        case .nil: shim_push_nil(L)
        case .boolean(let v): shim_push_boolean(L, v)
        case .integer(let v): shim_push_integer(L, v)
        case .number(let v): shim_push_number(L, v)
        case .string(let v):
            v.bytes.withUnsafeBytes { shim_push_bytes(L, $0.baseAddress, $0.count) }
        case .table(let v): push(v.reference, on: L)
        case .function(let v): push(v.reference, on: L)
        case .thread(let v): push(v.reference, on: L)
        case .userdata(let v): push(v.reference, on: L)
        }
    }

    func push(_ reference: LuaReference, on L: OpaquePointer) {
        precondition(reference.home === home, "a value of one Lua state was passed to another")
        shim_push_reference(L, reference.slot)
    }
}

extension LuaState {
    /// The forms of a chunk that `load` accepts.
    package enum ChunkMode: String, Sendable {
        case text = "t"
        case binary = "b"
        case any = "bt"
    }

    /// Compiles a chunk.
    ///
    /// `name` is a chunk name of Lua: `@file.lua`, `=stdin`, or the source itself. Lua does not verify binary chunks,
    /// so accept only `.text` from untrusted sources.
    package func load(_ source: LuaString, name: String, mode: ChunkMode = .text) throws(LuaError)
        -> LuaFunction
    {
        let L = stack
        let status = source.bytes.withUnsafeBytes {
            shim_load(L, $0.baseAddress, $0.count, name, mode.rawValue)
        }
        try check(status, on: L)
        return LuaFunction(reference: popReference(L))
    }

    /// Compiles a chunk of text.
    package func load(_ source: String, name: String? = nil) throws(LuaError) -> LuaFunction {
        try load(LuaString(source), name: name ?? source)
    }

    /// Compiles and runs a chunk, and returns all its results.
    @discardableResult  // because many chunks run for their side effects
    package func run(_ source: String, name: String? = nil, arguments: [LuaValue] = [])
        throws(LuaError) -> [LuaValue]
    {
        try load(source, name: name).call(arguments)
    }

    /// Calls a function where each uncaught error is raised, before the stack unwinds.
    ///
    /// The function receives no arguments and can inspect the stack with the `debug` library. Its own errors are
    /// ignored. It replaces an earlier function.
    package func observeErrors(_ function: LuaFunction) {
        let L = stack
        push(.function(function), on: L)
        shim_set_error_observer(L)
    }

    /// A level of the call stack.
    package struct Frame: Sendable, Equatable {
        /// The name of the chunk, shortened as in messages.
        package var source: String
        /// The current line; -1 if unknown.
        package var line: Int
        /// The line of the function's definition.
        package var definedAt: Int
        /// The name by which the function was called; nil if unknown.
        package var name: String?
        /// Whether the function is written in Lua; false for C and Swift.
        package var isLua: Bool
    }

    /// Returns the call at this level of the running code; level 0 is the innermost.
    ///
    /// Returns nil beyond the last level.
    package func frame(level: Int) -> Frame? {
        var raw = shim_frame()
        guard shim_stack_frame(stack, Int32(clamping: level), &raw) else { return nil }
        let source = withUnsafeBytes(of: raw.source) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let name = withUnsafeBytes(of: raw.name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Frame(
            source: source, line: Int(raw.line), definedAt: Int(raw.defined),
            name: name.isEmpty ? nil : name, isLua: raw.is_lua)
    }

    /// Returns `#value`; can call metamethods.
    package func length(of value: LuaValue) throws(LuaError) -> Int64? {
        let L = stack
        push(value, on: L)
        try check(shim_length(L), on: L)
        return pop(L).integer
    }

    /// Returns `value[key]` for any value; can call metamethods.
    package func index(_ value: LuaValue, _ key: LuaValue) throws(LuaError) -> LuaValue {
        let L = stack
        push(value, on: L)
        push(key, on: L)
        try check(shim_get(L), on: L)
        return pop(L)
    }

    /// Calls ``onMainReturn`` once, when the outermost running Lua function returns.
    ///
    /// Until then, every return costs a little more. Returns false if the call cannot be watched: no Lua function runs,
    /// or the script has its own hook. A function that ends with a tail call is not reported.
    @discardableResult  // because a call that was not watched is checked at its end anyway
    package func watchMainReturn() -> Bool { shim_watch_main_return(stack) }

    /// Turns warnings on or off; they are initially off, as in `lua` without `-W`.
    package func setWarnings(_ on: Bool) { shim_warnings(stack, on) }
}

extension LuaState {
    /// Runs the callbacks of the C module `luv` as runs of this state.
    ///
    /// They can be stopped, and their errors are kept for ``takeLuvFailures()``, where luv itself would end the
    /// process. Returns false if the table is not this module.
    package func adoptLuv(_ module: LuaTable) -> Bool {
        let L = stack
        push(module.reference, on: L)
        return shim_adopt_luv(L)
    }

    /// Disables all callbacks of luv; call it before the state is closed, which closes luv's handles.
    package func silenceLuv() { shim_silence_luv(main) }

    /// Returns the errors of luv's callbacks since the last call.
    package func takeLuvFailures() -> [LuaError] {
        let L = stack
        shim_take_luv_failures(L)
        guard let list = pop(L).table else { return [] }
        return list.array.compactMap { entry in
            guard let entry = entry.table else { return nil }
            let raised = entry[1]
            let error = error(of: raised)
            var lua =
                error as? LuaError
                ?? LuaError(
                    kind: .runtime,
                    message: (try? describe(raised).description) ?? "\(error)", traceback: nil,
                    underlying: error, value: raised)
            lua.kind = error is LuaInterrupted ? .interrupted : .runtime
            lua.traceback = entry[2].text
            return lua
        }
    }
}
