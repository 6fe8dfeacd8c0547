import EventLoops
import LuaHost
import Moonpool
import ObjectStore
import StoreBindings

// A Lua host inside a Swift program.
//
// It is for programs whose users write scripts. An engine is a script whose loop runs until it is closed. Chunks run
// one after the other, Swift functions and classes are globals, and observers and timers run between the chunks.
//
// Threads: an engine is usable on any thread and in any task; all Lua code runs on the engine's own thread. Only values
// (`ScriptValue`) pass between threads.
//
// Caveats:
// * While a chunk waits (`moonpool.sleep`, an async function of Swift), other chunks of the same engine run above it on
//   the same stack, and it continues only after they have ended. The stack has space for about 190 waiting chunks.
//   Engines that share a thread do not wait for each other (`LoopStrand`).
// * Stopping one run also stops those below it on the stack.

/// A Lua state with its own thread, for scripts in a Swift program.
///
/// ```swift
/// let engine = try ScriptEngine(.sandboxed)
/// try engine.register("add(a, b)") { (a: Int, b: Int) in a + b }
/// let sum = try await engine.run("return add(1, 2)", as: Int.self)
/// ```
///
/// An engine is usable on any thread. It ends with its last reference, or when it is closed.
public final class ScriptEngine: Sendable {
    let script: Script
    /// The type of the host's state; nil without one.
    let stateType: Any.Type?
    /// The declarations that the host has registered.
    let stubRegistry = StubRegistry()
    private let counter = UsageCounter()

    /// Starts an engine: `.sandboxed` for untrusted scripts; by default, scripts have the rights of `lua`.
    ///
    /// With `threads`, it shares a thread with other engines; otherwise it has its own thread. Throws `limit_exceeded`
    /// if the system has no threads or file descriptors left.
    public init(
        _ configuration: ScriptConfiguration = ScriptConfiguration(name: "engine"),
        on threads: ScriptThreads? = nil
    ) throws {
        stateType = nil
        script = try Self.start(configuration, threads) { _ in }
    }

    /// Starts an engine with a state of the host, which registered functions can read in their ``ScriptCall``.
    ///
    /// Throws `limit_exceeded` if the system has no threads or file descriptors left.
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

    /// Returns the code and the message of an error that a host function throws.
    private static func describe(_ error: any Error) -> (code: String, message: String)? {
        (error as? any MoonpoolError).map { ($0.code.rawValue, $0.message) }
    }

    deinit { script.finish() }

    // MARK: - Running

    /// Runs a chunk of Lua and ignores its results.
    ///
    /// Canceling the task stops the chunk. `name` is its name in messages. Throws ``/ScriptHost/ScriptFailure``, and
    /// `CancellationError` if the task was canceled.
    public func run(_ source: String, named name: String = "script") async throws {
        try await perform { context in
            _ = try context.state.load(source, name: "=" + name).call([])
        }
    }

    /// Runs a chunk of Lua and converts its first result.
    ///
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` for a result of another type.
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
    /// The rights of the script do not apply, because the host specifies the file. Throws the errors of
    /// ``run(_:named:)``.
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
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` if the function does not exist.
    public func call<Value: ScriptValue>(
        _ name: String, _ arguments: any ScriptValue..., as type: Value.Type = Value.self
    ) async throws -> Value {
        try await perform { context in
            let results = try context.call(name, arguments)
            return try context.convert(results.first ?? .nil, to: type, "the result of '\(name)'")
        }
    }

    /// Calls a global function and ignores its results.
    public func call(_ name: String, _ arguments: any ScriptValue...) async throws {
        try await perform { context in _ = try context.call(name, arguments) }
    }

    /// Runs a Swift closure on the engine's thread, with access to its Lua state and its stores.
    ///
    /// Use it for operations that the other functions do not offer. It counts as one run. Errors of Lua are thrown as
    /// `ScriptFailure`, other errors unchanged.
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
            // A value of a deleted object has no Lua form and becomes nil.
            context[name] = (try? value.toLua(in: context)) ?? .nil
        }
    }

    private static func annotation<Value: ScriptValue>(of value: Value) -> String {
        Value.scriptAnnotation
    }

    /// Opens a store for scripts as a global, regardless of their rights.
    ///
    /// The models are classes of the store's schema in Lua. Without models, the schema is that of the file. An
    /// in-memory store is shared by name with all engines and Swift stores. An in-memory store that a sandboxed script
    /// opens is not shared. Throws the errors of opening a store in Swift.
    public func open(
        _ location: StoreLocation, models: any ObjectModel.Type..., version: Int = 0,
        options: StoreOptions = StoreOptions(), as name: String = "store"
    ) async throws {
        let name = try GlobalName(name)
        let configuration = try options.configuration(location, models: models, version: version)
        try await perform { context in
            let handle = try context.storeModule.open(configuration)
            try ModelSchema.setDefaults(of: models, in: handle.store)
            context[name] = context.storeModule.value(of: handle)
        }
        stubRegistry.declare(variable: name.text, type: "moonpool.Store")
    }

    // MARK: - The end

    /// Stops the current run, if any.
    ///
    /// The engine remains usable.
    ///
    /// The stopped run throws a `ScriptFailure` with the code `interrupted`. A C or Swift function is not interrupted;
    /// the script stops when the function returns.
    public func stop() { script.stopRunning() }

    /// Stops the current run, rolls back writes, closes the stores, and returns when the engine has ended.
    ///
    /// Waiting and later runs throw a `ScriptFailure` with the code `closed`.
    public func close() async {
        do {
            try script.finishGently(within: .zero)
        } catch {
            // No thread is available for the normal end of the script, so the running chunk is stopped, unless it is
            // just starting.
            script.kill()
        }
        await withCheckedContinuation { continuation in
            script.whenEnded { _ in continuation.resume() }
        }
    }
}
