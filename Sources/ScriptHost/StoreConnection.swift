import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// A script's stores: what connects the bindings to its loop.
final class StoreConnection {
    private let loop: EventLoop
    private unowned let state: LuaState
    /// The table `moonpool`.
    let module: LuaTable

    init(state: LuaState, loop: EventLoop) {
        self.state = state
        self.loop = loop
        module = state.makeTable()
    }

    func connect(to context: ScriptContext) {}

    /// The stores that are open, in the order they were opened.
    var open: [Store] { [] }

    /// Lets every observation that is valid now last until it is invalidated, whoever held its token.
    func keepObservers() {}

    /// Makes every token invalid.
    func endObservers() {}

    /// Ends observers, rolls back open writes and closes the stores.
    func close() {
        endObservers()
        for store in open { store.close() }
    }
}
