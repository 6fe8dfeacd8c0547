import EventLoops
import LuaHost
import Moonpool
import ObjectStore
import StoreBindings

// A Lua host inside of a Swift program.
//
// For programs whose users write scripts. An engine is a script whose loop runs until it is closed: chunks run one
// after the other, functions and classes of Swift are globals, observers and timers run between the chunks.
//
// Threads: an engine may be used from any thread and any task; everything of Lua happens on the engine's own thread.
// What crosses are values (`ScriptValue`).
//
// Caveats:
// * A chunk that waits (`moonpool.sleep`, an async function of Swift) lets others of the same engine run meanwhile, above
//   it on the same stack: it continues when they have ended. Lua has stack space for some 190 waiting chunks at once.
//   Engines that share a thread do not wait for each other (`LoopStrand`).
// * Stopping one run also stops those below it on the stack.

/// A Lua state with a thread of its own, for scripts in a Swift program.
///
/// ```swift
/// let engine = try ScriptEngine(.sandboxed)
/// try engine.register("add(a, b)") { (a: Int, b: Int) in a + b }
/// let sum = try await engine.run("return add(1, 2)", as: Int.self)
/// ```
///
/// Usable on any thread. Ends with its last reference, or when it is closed.
public final class ScriptEngine: Sendable {
    let script: Script
    /// The type of the host's state; nil without one.
    let stateType: Any.Type?
    /// What the host has given the scripts.
    let stubRegistry = StubRegistry()
    private let counter = UsageCounter()

    /// Starts an engine: `.sandboxed` for scripts of strangers; by default they may do what `lua` may.
    ///
    /// With `threads` it shares a thread with other engines; else it has one of its own. Throws what the system refuses: threads, file
    /// descriptors.
    public init(
        _ configuration: ScriptConfiguration = ScriptConfiguration(name: "engine"),
        on threads: ScriptThreads? = nil
    ) throws {
        stateType = nil
        script = try Self.start(configuration, threads) { _ in }
    }

    /// Starts an engine with a state of the host, which registered functions find in their ``ScriptCall``.
    ///
    /// Throws what the system refuses: threads, file descriptors.
    public init<State: Sendable>(
        _ configuration: ScriptConfiguration = ScriptConfiguration(name: "engine"), state: State,
        on threads: ScriptThreads? = nil
    ) throws {
        stateType = State.self
        script = try Self.start(configuration, threads) { context in
            HostState(state).attach(to: context)
        }
    }

    private static func start(
        _ configuration: ScriptConfiguration, _ threads: ScriptThreads?,
        _ prepare: @escaping @Sendable (ScriptContext) -> Void
    ) throws -> Script {
        var configuration = configuration
        configuration.isInteractive = true
        let main: @Sendable (ScriptContext) -> Int32 = { context in
            context.state.describesError = describe
            prepare(context)
            return 0
        }
        guard let threads else { return try Script(configuration, main: main) }
        return try Script(configuration, on: threads, main: main)
    }

    /// The code and the message of an error that a function of the host throws.
    private static func describe(_ error: any Error) -> (code: String, message: String)? {
        (error as? any MoonpoolError).map { ($0.code.rawValue, $0.message) }
    }

    deinit { script.finish() }

    // MARK: - Running

    /// Runs a chunk of Lua whose results do not matter.
    ///
    /// Canceling the task stops the chunk. `name` is what messages call it. Throws ``/ScriptHost/ScriptFailure``, and `CancellationError`
    /// when the task was canceled.
    public func run(_ source: String, named name: String = "script") async throws {
        try await perform { context in
            _ = try context.state.load(source, name: "=" + name).call([])
        }
    }

    /// Runs a chunk of Lua and converts its first result.
    ///
    /// Throws as ``run(_:named:)`` does, and `type_mismatch` when the result is something else.
    public func run<Value: ScriptValue>(
        _ source: String, named name: String = "script", as type: Value.Type = Value.self
    ) async throws -> Value {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Runs a file of Lua; `arguments` are its `...`.
    ///
    /// The host names the file, so the script's own rights do not matter here. Throws as ``run(_:named:)`` does.
    public func run(file path: String, arguments: [String] = []) async throws {
        try await perform { context in
            _ = try context.load(file: path).call(arguments.map(LuaValue.text))
        }
    }

    /// Runs a file of Lua and converts its first result.
    public func run<Value: ScriptValue>(
        file path: String, arguments: [String] = [], as type: Value.Type = Value.self
    ) async throws -> Value {
        try await perform { context in
            let results: [LuaValue] = try context.load(file: path)
                .call(arguments.map(LuaValue.text))
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Calls a global function, such as `update` or `app.update`, and converts its first result.
    ///
    /// Throws as ``run(_:named:)`` does, and `type_mismatch` when there is no such function.
    public func call<Value: ScriptValue>(
        _ name: String, _ arguments: any ScriptValue..., as type: Value.Type = Value.self
    ) async throws -> Value {
        try await perform { context in
            let results = try context.call(name, arguments)
            return try context.convert(results.first ?? .nil, to: type, "the result of '\(name)'")
        }
    }

    /// Calls a global function whose results do not matter.
    public func call(_ name: String, _ arguments: any ScriptValue...) async throws {
        try await perform { context in _ = try context.call(name, arguments) }
    }

    /// Runs Swift on the engine's thread, with its Lua state and its stores at hand.
    ///
    /// For what the other functions do not offer. It counts as one run; errors are thrown as `ScriptFailure` if they
    /// come from Lua, else as they are.
    package func perform<Value: Sendable>(
        _ body: @escaping @Sendable (ScriptContext) throws -> Value
    ) async throws -> Value {
        let run = EngineRun(script, counter)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let delivery = EngineDelivery(continuation)
                script.post { context in run.perform(body, in: context, delivery) }
            }
        } onCancel: {
            run.cancel()
        }
    }

    /// The resources that the engine has used until the end of its last run.
    public var usage: ScriptUsage { counter.usage }

    // MARK: - Globals

    /// Sets a global, such as `limit` or `app.limit`.
    ///
    /// Takes effect before the next run. Throws `invalid_argument` for an invalid name.
    public func set(_ name: String, to value: some ScriptValue) throws {
        let name = try GlobalName(name)
        stubRegistry.declare(variable: name.text, type: Self.annotation(of: value))
        script.post { context in
            // A value without a Lua form is one of a deleted object: nil.
            context[name] = (try? value.toLua(in: context)) ?? .nil
        }
    }

    private static func annotation<Value: ScriptValue>(of value: Value) -> String {
        Value.scriptAnnotation
    }

    /// Opens a store for the scripts as a global, whatever their own rights.
    ///
    /// The models are classes of the store's schema in Lua. Without models the schema is the file's. A location in memory is that of a
    /// `Store` in Swift: all engines and stores that open its name share the data, while a store in memory that a sandboxed script
    /// opens itself is its own. Throws as opening a store in Swift does.
    public func open(
        _ location: StoreLocation, models: any ObjectModel.Type..., version: Int = 0,
        options: StoreOptions = StoreOptions(), as name: String = "store"
    ) async throws {
        let name = try GlobalName(name)
        let configuration = try options.configuration(location, models: models, version: version)
        try await perform { context in
            let handle = try context.storeModule.open(configuration)
            context[name] = context.storeModule.value(of: handle)
        }
        stubRegistry.declare(variable: name.text, type: "moonpool.Store")
    }

    // MARK: - The end

    /// Stops what is running, if something is; the engine can be used on.
    ///
    /// The stopped run throws a `ScriptFailure` with the code `interrupted`. A C or Swift function that computes is not
    /// cut short: the script stops when it returns.
    public func stop() { script.stopRunning() }

    /// Ends the engine: what runs is stopped, writes are rolled back, stores are closed; waits for that.
    ///
    /// Runs that wait for their turn and those that come later throw a `ScriptFailure` with the code `closed`.
    public func close() async {
        do {
            try script.finishGently(within: .zero)
        } catch {
            // No thread is left to manage it: the running chunk is stopped, unless it begins this moment.
            script.kill()
        }
        await withCheckedContinuation { continuation in
            script.whenEnded { _ in continuation.resume() }
        }
    }
}
