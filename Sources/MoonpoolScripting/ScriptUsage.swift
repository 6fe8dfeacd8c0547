import ScriptHost
import Synchronization

/// The resources that a script engine has used until the end of its last run.
///
/// ```swift
/// try await engine.run(rules)
/// if engine.usage.time > .seconds(1) { report(engine.usage) }
/// ```
public struct ScriptUsage: Sendable, Equatable {
    /// The number of runs that have ended.
    public internal(set) var runs = 0
    /// The duration of the last run, including its waits.
    public internal(set) var time = Duration.zero
    /// The number of instructions of the last run, rounded to thousands; nil without
    /// ``/ScriptHost/ScriptLimits/instructions``, because counting makes code slower.
    public internal(set) var instructions: Int64?
    /// The memory of the script in bytes: the memory that its limit counts, or without a limit, its Lua values.
    public internal(set) var memory = 0
    /// The number of open stores.
    public internal(set) var stores = 0
    /// The number of observers.
    public internal(set) var observers = 0
}

/// Counts the resources of an engine's runs.
final class UsageCounter: Sendable {
    private let state = Mutex(ScriptUsage())

    var usage: ScriptUsage { state.withLock { $0 } }

    /// Records the end of a run, on the engine's thread.
    func note(_ time: Duration, _ context: ScriptContext) {
        let instructions =
            context.configuration.limits.instructions == nil ? nil : context.state.instructions
        let memory = context.memoryInUse
        let stores = context.openStores.count
        let observers = context.storeModule.activeTokens.count
        state.withLock { usage in
            usage.runs += 1
            usage.time = time
            usage.instructions = instructions
            usage.memory = memory
            usage.stores = stores
            usage.observers = observers
        }
    }
}
