import CLuaShims
import MemoryAccounts

/// The memory of a state, in bytes as counted by Lua.
package struct LuaMemory: Sendable, Equatable {
    /// The current memory.
    package var used: Int
    /// The highest memory so far.
    package var peak: Int

    /// Makes the process map large blocks of its heap one by one, so that they take memory only while they are used.
    ///
    /// Such blocks are slower to create; call it in a process with a memory limit.
    package static func mapLargeBlocks() { shim_map_large_blocks() }

    /// Returns free memory of the process's heap to the system.
    ///
    /// Takes up to some milliseconds.
    package static func trimHeap() { shim_trim_heap() }
}

extension LuaState {
    /// The memory of all Lua values.
    ///
    /// Swift objects behind userdata are not counted.
    package var memory: LuaMemory {
        let figures = shim_memory_figures(main)
        return LuaMemory(used: figures.used, peak: figures.peak)
    }

    /// The account that the state's memory is charged to; nil without a limit.
    package var account: MemoryAccount? { home.account }

    /// Charges memory that the state allocates from now on to its account.
    ///
    /// Earlier allocations are not charged. If the account refuses memory, the code receives ``MemoryLimitReached``
    /// with the code `limit_exceeded`. Idempotent; has no effect without an account.
    package func countMemory() {
        guard let account else { return }
        let L = stack
        push(
            box(MemoryLimitReached(limit: account.limit), position: ""),
            LuaErrorBox.declaration, on: L)
        shim_set_memory_error(L)
        shim_count_memory(main)
    }

    /// Throws if the account has less than this number of bytes left; call it in functions that build large values.
    ///
    /// The bytes are a temporary allocation of the caller. Collects garbage before it throws, if a collection is
    /// worthwhile. Costs less than a tenth of a microsecond.
    package func checkMemory(adding bytes: Int = 0) throws(MemoryLimitReached) {
        guard let account, !account.hasSpace(for: bytes) else { return }
        if account.needsCollection {
            shim_collect_now(stack)
        }
        try account.requireSpace(for: bytes)
    }

    /// Runs a full garbage collection.
    ///
    /// Finalizers run.
    package func collectGarbage() { shim_collect(stack) }
}

extension MemoryAccount {
    /// The required action before a host call.
    var pressure: Int {
        if needsCollection { return SHIM_PRESSURE_COLLECT }
        guard isExhausted else { return SHIM_PRESSURE_NONE }
        return collectsBeforeRefusal ? SHIM_PRESSURE_EXHAUSTED : SHIM_PRESSURE_REFUSE
    }
}

extension MemoryLimitReached: ScriptError {
    /// The code `limit_exceeded`.
    package var scriptCode: String { "limit_exceeded" }
    /// The message, which names the limit.
    package var scriptMessage: String { description }
}
