import CLuaShims

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

    /// The most bytes that Lua code may allocate; nil for no limit.
    ///
    /// Beyond it allocations raise "not enough memory".
    package var memoryQuota: Int? {
        get {
            let quota = shim_memory_figures(main).quota
            return quota == 0 ? nil : quota
        }
        set { shim_memory_quota(main, newValue.map { max($0, 1) } ?? 0) }
    }

    /// A full collection.
    ///
    /// Finalizers run.
    package func collectGarbage() { shim_collect(stack) }
}
