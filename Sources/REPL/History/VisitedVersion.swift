import LuaHost
import ObjectStore
import StoreBindings

/// An earlier version that the variable `store` shows.
struct VisitedVersion {
    let handle: StoreHandle
    let version: UInt64
    /// The previous value of `store`: a live store.
    let live: LuaValue
}

extension Session {
    /// Returns the live store, even while `store` shows one of its earlier versions.
    func requireLiveStore() throws -> StoreHandle {
        try visited?.handle ?? requireStore()
    }

    /// The version that `store` shows instead of the newest; nil for the newest.
    var visitedVersion: UInt64? { visited?.version }

    /// Binds `store` to a version of the store; objects in other variables keep their version.
    ///
    /// Throws `out_of_range` for a version that is not kept.
    func visit(_ version: UInt64) throws {
        let handle = try requireLiveStore()
        if version == handle.store.version {
            return visited == nil ? () : try returnToPresent()
        }
        let live = visited?.live ?? context.storeModule.value(of: handle)
        let space = try handle.value(at: version)
        bindStore(to: space)
        visited = VisitedVersion(handle: handle, version: version, live: live)
    }

    /// Binds `store` to the live store again.
    func returnToPresent() throws {
        guard let visited else {
            throw CommandError("store already shows the newest version; .history lists the others")
        }
        bindStore(to: visited.live)
        self.visited = nil
        write("store shows the newest version, \(visited.handle.store.version)\n")
    }

    /// Ends the visit if the user has given `store` another value.
    func noticeStoreOfUser() {
        guard visited != nil else { return }
        let value = evaluator.local("store") ?? context.state.globals["store"]
        if case .store? = context.storeModule.inspect(value) { visited = nil }
    }

    private func bindStore(to value: LuaValue) {
        if evaluator.local("store") != nil {
            evaluator.setLocal("store", value)
        } else {
            context.state.globals["store"] = value
        }
    }

    /// A hint about how to return to the live store, after an error about writing to an earlier version.
    var visitHint: String? {
        visited.map { "store shows version \($0.version); .goto returns to the newest version" }
    }
}
