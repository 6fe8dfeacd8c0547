// LuaHost: a Lua state as a Swift object.
//
// What it is for: running chunks, exchanging values, giving scripts functions and classes written in Swift, and one
// error model for both sides. It knows no store and no event loop.
//
// Threads: a state belongs to the thread that uses it; nothing here locks. Two things may be used on any thread: a
// `LuaReference` (and what holds one) may be dropped, and a `LuaInterrupt` may be requested.
//
// Caveats:
// * No jump crosses Swift. Lua is reached only through `CLuaShims`, whose functions cannot raise or run protected.
// * Inside a function called by a coroutine every operation works on that coroutine's stack by itself.
// * `deinit` of an object that Lua collects runs in the middle of whatever the script does: it may drop references,
//   it may not use the state.
// * A memory account refuses memory while Lua code runs, not in Swift functions that it calls: those record what they
//   take, and the script's next allocation fails. Functions that build large values ask `checkMemory` as they go.
// * Closing runs the script's finalizers. Values that outlive their state answer every use with an error.

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
    /// Receives the warnings of `warn` and of failing finalizers, when they are switched on.
    package var onWarning: ((String) -> Void)?
    /// The owner of the state: declarations of classes, which belong to no state, find their host through it.
    package weak var host: AnyObject?
    /// Which files the functions that are given to the script may touch.
    package var files = FileRights.all
    /// Returns the code and the message of an error of the host that is not a ``ScriptError``; nil for one without a code.
    package var describesError: ((any Error) -> (code: String, message: String)?)?
    /// Called when a main chunk returns that is watched: see ``watchMainReturn()``.
    ///
    /// What neither its locals nor anything else reaches has just been collected; its locals are
    /// still there.
    package var onMainReturn: (() -> Void)?

    /// A state with the given libraries.
    ///
    /// Aborts when there is not even memory for an empty state.
    ///
    /// `ignoresEnvironment` is `lua -E`: LUA_PATH and LUA_CPATH do not count. `isConfined` removes the functions of the
    /// libraries that could reach out of the state or run on after a stop: `dofile`, `loadfile` and binary chunks,
    /// `__gc`, `string.dump`, and all of `os` but the time. The libraries should be ``LuaLibraries/confined`` then.
    ///
    /// The state's memory is charged to `account` from ``countMemory()`` on.
    package init(
        libraries: LuaLibraries = .all, isConfined: Bool = false, ignoresEnvironment: Bool = false,
        account: MemoryAccount? = nil
    ) {
        home = LuaHome(account: account)
        var calls = shim_host_calls(
            release: { object in
                // because every pointer given to the shims was retained by passRetained
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
                // What only a dropped reference still holds is garbage as well.
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
        setStopError(LuaInterrupted(), SHIM_STOP_INTERRUPT)
    }

    deinit { close() }

    /// Ends the state: runs its finalizers and `__gc` metamethods, releases every Swift object it
    /// held.
    ///
    /// Idempotent.
    package func close() {
        guard home.isOpen else { return }
        precondition(!shim_is_running(main), "a Lua state cannot be closed by code that it runs")
        closeInPlace()
    }

    /// Ends the state under the code that it runs, as `os.exit(code, true)` of `lua` does: pending `__close` handlers and
    /// finalizers run.
    ///
    /// That code cannot be returned to: the caller ends the process.
    package func closeBeforeExit() {
        if home.isOpen { closeInPlace() }
    }

    private func closeInPlace() {
        home.willClose()
        shim_close(main)
        home.didClose()
    }

    /// Lua's release and copyright, as `lua -v` shows them.
    package static var copyright: String { String(cString: shim_copyright()) }

    /// False once `close` has been called.
    package var isOpen: Bool { home.isOpen }

    /// Whether Lua code of this state is executing, further out on this thread's stack.
    package var isRunning: Bool { home.isOpen && shim_is_running(main) }

    /// Whether the run that is going on has been asked to stop, from whatever thread.
    package var isStopping: Bool { isRunning && shim_stop_asked(main) }

    /// Throws when the run that is going on has been asked to stop, also if the script has caught that once.
    ///
    /// For host functions that are about to do what a stopped run may not do, such as a commit.
    package func checkStopping() throws(LuaInterrupted) {
        if isStopping { throw LuaInterrupted() }
    }

    /// Throws where the run's next instruction would raise that it has been asked to stop.
    ///
    /// For host functions that have waited: the signal that makes the run notice may come only after they have returned.
    /// Unlike `checkStopping`, lets a run tidy up that has caught the stop.
    package func takeStop() throws(LuaInterrupted) {
        if isRunning && shim_stop_due(main) { throw LuaInterrupted() }
    }

    /// The table of global variables.
    package var globals: LuaTable {
        let L = stack
        shim_push_globals(L)
        return LuaTable(reference: popReference(L))
    }

    /// `package.loaded`, where a module put under its name is what `require` returns.
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

    /// The stack of the innermost host call: a coroutine's inside functions that it called.
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

    func string(at index: Int32, on L: OpaquePointer) -> LuaString {
        var length = 0
        let bytes = shim_bytes(L, index, &length)
        home.noteCopy(of: length)
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
        precondition(reference.home === home, "a value of one Lua state was given to another")
        shim_push_reference(L, reference.slot)
    }
}
