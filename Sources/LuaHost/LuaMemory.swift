import CLuaShims
import MemoryAccounts

/// How much memory a state holds, in bytes as Lua counts them.
package struct LuaMemory: Sendable, Equatable {
    /// Held now.
    package var used: Int
    /// The most that was ever held.
    package var peak: Int
}

extension LuaState {
    /// The memory held by Lua values.
    ///
    /// Swift objects behind userdata are not counted.
    package var memory: LuaMemory {
        let figures = shim_memory_figures(main)
        return LuaMemory(used: figures.used, peak: figures.peak)
    }

    /// The account that the state's memory is charged to; nil without a limit.
    package var account: MemoryAccount? { home.account }

    /// Charges what the state takes from now on to its account.
    ///
    /// What it holds already belongs to the host. Where the account refuses memory, code gets ``MemoryLimitReached``, with
    /// the code `limit_exceeded`. Idempotent; does nothing without an account.
    package func countMemory() {
        guard let account else { return }
        let L = stack
        push(
            box(MemoryLimitReached(limit: account.limit), position: ""),
            LuaErrorBox.declaration, on: L)
        shim_set_memory_error(L)
        shim_count_memory(main)
    }

    /// Throws if the account does not have these bytes left, which the caller has allocated for a while, for functions
    /// that build large values.
    ///
    /// Collects garbage before it gives up, if that is worth its time. Costs two loads.
    package func checkMemory(adding bytes: Int = 0) throws(MemoryLimitReached) {
        guard let account, account.bytes + bytes >= account.capacity else { return }
        if account.needsCollection {
            shim_collect_now(stack)
        }
        guard account.bytes + bytes < account.capacity else {
            throw MemoryLimitReached(limit: account.limit)
        }
    }

    /// A full collection.
    ///
    /// Finalizers run.
    package func collectGarbage() { shim_collect(stack) }
}

extension MemoryAccount {
    /// The required action before a host call; a script may exceed the limit by half of the reserve for imprecision.
    var pressure: Int {
        if needsCollection { return SHIM_PRESSURE_COLLECT }
        let isExhausted = bytes > capacity + (limit - capacity) / 2
        return isExhausted ? SHIM_PRESSURE_EXHAUSTED : SHIM_PRESSURE_NONE
    }
}

extension MemoryLimitReached: ScriptError {
    /// `limit_exceeded`.
    package var scriptCode: String { "limit_exceeded" }
    /// Which limit it is.
    package var scriptMessage: String { description }
}
