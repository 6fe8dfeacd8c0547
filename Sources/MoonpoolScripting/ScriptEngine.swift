import EventLoops
import LuaHost
import Moonpool
import ObjectStore
import StoreBindings
import Synchronization

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
//   Engines that share a thread do not wait for each other (`JobGroup`).
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

// Results of runs as Codable values and as models. The combinations of protocols select the overload.

extension ScriptEngine {
    /// Runs a chunk of Lua and decodes its first result, a table, as a Codable value.
    ///
    /// The value is decoded in the caller's isolation and need not be Sendable. Throws the errors of ``run(_:named:)``,
    /// and `type_mismatch` with the path of the field.
    nonisolated(nonsending) public func run<D: Decodable>(
        _ source: String, named name: String = "script", as type: D.Type = D.self
    ) async throws -> D {
        let tree = try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.tree(results.first ?? .nil)
        }
        do { return try ScriptTree.decode(type, from: tree) } catch {
            throw ScriptFailure(.typeMismatch, "the result: \(ScriptTree.describe(error))")
        }
    }

    /// Runs a chunk of Lua and converts its first result.
    public func run<V: ScriptValue & Decodable>(
        _ source: String, named name: String = "script", as type: V.Type = V.self
    ) async throws -> V {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Runs a chunk of Lua whose first result is an object, and returns its plain value.
    ///
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` for another result.
    public func run<M: Model>(
        _ source: String, named name: String = "script", as type: M.Type = M.self
    ) async throws -> M {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result is an object, and returns its plain value.
    public func run<M: Model & Decodable>(
        _ source: String, named name: String = "script", as type: M.Type = M.self
    ) async throws -> M {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result is results, a list, a set or a table of objects, and returns their plain
    /// values.
    ///
    /// ```swift
    /// let dogs = try await engine.run("return store:objects 'Dog'", as: [Dog].self)
    /// ```
    ///
    /// Throws the errors of ``run(_:named:)``, and `type_mismatch` for another result.
    public func run<M: Model>(
        _ source: String, named name: String = "script", as type: [M].Type = [M].self
    ) async throws -> [M] {
        try await detached(source, name, type)
    }

    /// Runs a chunk of Lua whose first result contains objects, and returns their plain values.
    public func run<M: Model & Decodable>(
        _ source: String, named name: String = "script", as type: [M].Type = [M].self
    ) async throws -> [M] {
        try await detached(source, name, type)
    }

    private func detached<M: Model>(
        _ source: String, _ name: String, _ type: [M].Type
    ) async throws -> [M] {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: [Live<M>].self, "the result")
                .map { try $0.detached() }
        }
    }

    private func detached<M: Model>(
        _ source: String, _ name: String, _ type: M.Type
    ) async throws -> M {
        try await perform { context in
            let results: [LuaValue] = try context.state.load(source, name: "=" + name).call([])
            return try context.convert(results.first ?? .nil, to: Live<M>.self, "the result")
                .detached()
        }
    }

    /// Sets a global to a Codable value as a table.
    ///
    /// Takes effect before the next run. Throws `invalid_argument` for a name that is not a Lua name, `out_of_range`
    /// for an integer beyond Lua's 64 bits, and the errors of the value's own encoding.
    public func set(_ name: String, encoding value: some Encodable) throws {
        let name = try GlobalName(name)
        let tree = try ScriptTree.encode(value)
        stubRegistry.declare(variable: name.text, type: "table")
        script.post { context in
            context[name] = context.storeModule.luaValue(plain: tree)
        }
    }

    // MARK: - Modules

    /// Defines a module for `require`, from source text.
    ///
    /// If the module is already loaded, its table gets the new contents. If the new code does not compile or fails, the
    /// old module remains and the error is thrown.
    public func load(_ module: String, source: String) async throws {
        try await perform { try $0.defineModule(module, source: source) }
    }

    /// Loads a module again, from the source of ``load(_:source:)`` or from its file.
    ///
    /// The table of the module gets the new contents. If the new code does not compile or fails, the old module remains
    /// and the error is thrown.
    public func reload(_ module: String) async throws {
        try await perform { try $0.reloadModule(module) }
    }
}

extension ScriptContext {
    func tree(_ value: LuaValue) throws(ScriptFailure) -> Value {
        do throws(ScriptTypeMismatch) {
            return try ScriptTree.value(value, in: self)
        } catch {
            throw ScriptFailure(.typeMismatch, "the result: \(error.reason)")
        }
    }
}

/// One run of an engine, which another thread can cancel.
final class EngineRun: Sendable {
    private enum Phase { case waiting, running, over, canceled }

    private let script: Script
    private let usage: UsageCounter
    private let phase = Mutex(Phase.waiting)

    init(_ script: Script, _ usage: UsageCounter) {
        self.script = script
        self.usage = usage
    }

    /// Does the work on the engine's thread, unless it was already canceled.
    func perform<Value: Sendable>(
        _ body: (ScriptContext) throws -> Value, in context: ScriptContext,
        _ delivery: EngineDelivery<Value>
    ) {
        guard !context.isExiting else { return delivery.fail(ScriptFailure.closed) }
        let begins = phase.withLock { phase in
            guard phase == .waiting else { return false }
            phase = .running
            return true
        }
        guard begins else { return delivery.fail(CancellationError()) }
        let begin = ContinuousClock.now
        // The host's own operations, such as opening a store, run no Lua code that a stop could end.
        let whileWaiting = context.storeModule.whileWaiting
        context.storeModule.whileWaiting = { [weak self] store in
            if self?.isCanceled == true { throw CancellationError() }
            try whileWaiting?(store)
        }
        let result = Result { try context.entry { () throws in try body(context) } }
        context.storeModule.whileWaiting = whileWaiting
        usage.record(ContinuousClock.now - begin, context)
        let wasCanceled = phase.withLock { phase in
            assert(phase == .running || phase == .canceled, "a run ends once")
            defer { phase = .over }
            return phase == .canceled
        }
        if wasCanceled, case .failure = result { return delivery.fail(CancellationError()) }
        delivery.end(result, in: context)
    }

    private var isCanceled: Bool { phase.withLock { $0 == .canceled } }

    /// Stops the run, or prevents its start.
    func cancel() {
        phase.withLock { phase in
            switch phase {
            case .waiting: phase = .canceled
            // The lock delays the end of the run until the stop is requested; otherwise the stop would affect the next
            // run.
            case .running:
                phase = .canceled
                script.stopRunning()
            case .over, .canceled: break
            }
        }
    }
}

/// Receives the result of a run, once.
///
/// If the engine has ended, dropping the job releases this object, which resumes the waiting caller.
final class EngineDelivery<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, any Error>?>

    init(_ continuation: CheckedContinuation<Value, any Error>) {
        self.continuation = Mutex(continuation)
    }

    deinit { take()?.resume(throwing: ScriptFailure.closed) }

    /// Delivers the result of code that has run in the script.
    func end(_ result: Result<Value, any Error>, in context: ScriptContext) {
        switch result {
        // The end of the script has shortened a wait, after which the code returned as if the wait were over.
        case .success where context.isExiting: fail(ScriptFailure.closed)
        case .success(let value): take()?.resume(returning: value)
        case .failure(let error): fail(ScriptFailure.describing(error))
        }
    }

    func fail(_ error: any Error) { take()?.resume(throwing: error) }

    private func take() -> CheckedContinuation<Value, any Error>? {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
    }
}
