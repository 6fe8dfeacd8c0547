import EventLoops
import LuaHost
import ObjectStore

// `require "luv"` in a script.
//
// luv has its own libuv loop, which is embedded in the script's loop: its callbacks run in the script's turns,
// between observers and timers, and its active handles keep the script running. luv does not get the script's own loop,
// because `uv.walk` and `uv.stop` would then affect the handles of stores.
//
// As usual, `uv.run()` waits until luv has no active handles; observers and timers run in the
// meantime.

extension ScriptContext {
    /// Makes `require "luv"` find the module of Debian or LuaRocks as usual, and hosts its loop.
    func installLuv() {
        guard let package = state.globals["package"].table, let preload = package["preload"].table
        else { return }
        let function = state.makeFunction("luv") { [weak self] call in
            guard let self else { return .none }
            // A script's loop embeds one loop, so a script that has unloaded the module gets the same one again.
            if let luv { return try call.answer([.table(luv.module)]) }
            let module = try loadLuv(call[1], package)
            if let table = module.first?.table { try hostLuv(table) }
            return try call.answer(module)
        }
        preload["luv"] = .function(function)
    }

    /// Loads luv as `require` does without the preloaded function, with the other searchers.
    private func loadLuv(_ name: LuaValue, _ package: LuaTable) throws -> [LuaValue] {
        let searchers = try package.get("searchers").table?.array ?? []
        var messages = ["\n\tno field package.preload['luv']"]
        for searcher in searchers.dropFirst() {
            let found = try state.call(searcher, [name])
            if let loader = found.first, loader.function != nil {
                return try state.call(loader, [name] + found.dropFirst().prefix(1))
            }
            if let message = found.first?.string { messages.append("\n\t" + message.description) }
        }
        throw LuvMissing(
            scriptMessage: "module 'luv' not found:" + messages.joined()
                + "\n\t(Debian has it as the package lua-luv)")
    }

    private struct LuvMissing: ScriptError {
        let scriptCode = "error"
        let scriptMessage: String
    }

    private func hostLuv(_ module: LuaTable) throws {
        guard state.adoptLuv(module), let embedded = LuvLoop(module, of: self) else { return }
        try loop.embed(embedded.functions)
        luv = embedded
        embedded.replaceRun()
    }
}

/// The loop of luv, which is accessed through luv's own functions.
final class LuvLoop {
    private unowned let context: ScriptContext
    /// The module table of luv that scripts use.
    let module: LuaTable
    private let runNative: LuaFunction
    private let stopNative: LuaFunction
    private let aliveNative: LuaFunction
    private let timeoutNative: LuaFunction
    private let updateNative: LuaFunction
    private let descriptor: Int32
    private var isStopped = false
    private let walkNative: LuaFunction
    /// Whether a callback of luv is running.
    private(set) var isRunning = false

    init?(_ module: LuaTable, of context: ScriptContext) {
        guard let run = module["run"].function, let alive = module["loop_alive"].function,
            let timeout = module["backend_timeout"].function,
            let update = module["update_time"].function, let stop = module["stop"].function,
            let fd = module["backend_fd"].function, let walk = module["walk"].function,
            let descriptor = try? fd.call([]).first?.integer
        else { return nil }
        self.context = context
        self.module = module
        walkNative = walk
        (runNative, stopNative, aliveNative) = (run, stop, alive)
        (timeoutNative, updateNative) = (timeout, update)
        self.descriptor = Int32(clamping: descriptor)
    }

    var functions: EmbeddedLoop {
        EmbeddedLoop(
            descriptor: descriptor, timeout: { [unowned self] in timeout },
            isAlive: { [unowned self] in isAlive }, run: { [unowned self] in run() },
            didWait: { [unowned self] in _ = ask(updateNative) })
    }

    /// Calls a function of luv that only returns a value; its only possible error is a stop of the script.
    private func ask(_ function: LuaFunction) -> LuaValue {
        if context.isExiting { return .nil }
        do {
            return try function.call([]).first ?? .nil
        } catch {
            context.failed(error, in: "luv", token: .nil)
            return .nil
        }
    }

    private var isAlive: Bool { ask(aliveNative).isTruthy }

    private var timeout: Duration? {
        guard let milliseconds = ask(timeoutNative).integer, milliseconds >= 0 else { return nil }
        return .milliseconds(milliseconds)
    }

    /// Runs due callbacks of luv.
    private func run() {
        assert(!isRunning, "callbacks of luv run in one turn at a time")
        isRunning = true
        defer { isRunning = false }
        do {
            _ = try context.entry { () throws in try runNative.call([.text("nowait")]) }
        } catch {
            context.failed(error, in: "a callback of luv", token: .nil)
        }
        for failure in context.state.takeLuvFailures() {
            context.failed(failure, in: "a callback of luv", token: .nil)
        }
    }

    /// Closes luv's handles and waits for its pending requests, because their memory belongs to the state, which is
    /// closed next.
    func end() {
        guard !isRunning else { return }
        let (state, signals) = (context.state, context.signals)
        state.setTimeLimit(nil)
        state.setInstructionLimit(nil)
        context.loop.endEmbeddedLoops()
        signals.withoutInterrupts {
            var attempts = 0
            // A stop that was requested earlier can still arrive.
            while attempts < 10, !closeHandles() { attempts += 1 }
            state.silenceLuv()
            attempts = 0
            while attempts < 10, (try? aliveNative.call([]).first?.isTruthy) != false {
                _ = try? runNative.call([]) as [LuaValue]
                attempts += 1
            }
        }
    }

    private func closeHandles() -> Bool {
        let code = """
            local walk = ...
            walk(function(handle) if not handle:is_closing() then handle:close() end end)
            """
        return (try? context.state.load(code, name: "=luv").call([.function(walkNative)])) != nil
    }

    /// Replaces `uv.run` with a function that runs the script's own loop, and `uv.stop` with one that ends the run.
    func replaceRun() {
        let state = context.state
        module["run"] = .function(
            state.makeFunction("run") { [weak self] call in
                guard let self else { return .none }
                if call.count > 0, !call.isNil(1), call[1].text != "default" {
                    return try call.answer(runNative.call(call.rest(from: 1)))
                }
                if isRunning {
                    throw StoreError(
                        .invalidArgument,
                        "uv.run cannot be called from a luv callback, because the loop is already running"
                    )
                }
                isStopped = false
                try context.wait { self.isStopped || !self.isAlive }
                return call.answer(.boolean(isAlive))
            })
        module["stop"] = .function(
            state.makeFunction("stop") { [weak self] call in
                guard let self else { return .none }
                isStopped = true
                return try call.answer(stopNative.call([]) as [LuaValue])
            })
    }
}
