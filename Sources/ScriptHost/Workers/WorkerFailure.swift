import LuaHost
import StoreBindings

/// An unhandled error of a worker, which is sent to the parent.
struct WorkerFailure: Sendable {
    /// The origin of the error: `worker 'cache'`, `worker 'cache', timer (cache.lua:3)`.
    let source: String
    private let code: String
    private let message: String
    private let traceback: String?
    /// The raised value, if it can be sent to another thread.
    private let value: Parcel?

    init(_ error: any Error, source: String, in context: ScriptContext) {
        self.source = source
        let lua = error as? LuaError
        let script = (lua?.underlying ?? error) as? any ScriptError
        code = script?.scriptCode ?? "error"
        message = lua?.message ?? script?.scriptMessage ?? "\(error)"
        traceback = lua?.traceback
        var value: Parcel?
        if let raised = lua?.value, script == nil, raised.userdata == nil {
            value = try? Parcel([raised], of: context.storeModule) { _ in "error" }
        }
        self.value = value
    }

    /// Returns the error in the parent's state, for `moonpool.on_error`.
    func error(in context: ScriptContext) -> LuaError {
        let raised = (try? value?.open(in: context.storeModule))?.first
        let shown = RaisedElsewhere(scriptCode: code, scriptMessage: message)
        return LuaError(
            kind: .runtime, message: message, traceback: traceback, underlying: shown,
            value: raised ?? context.state.value(of: shown))
    }

    private struct RaisedElsewhere: ScriptError {
        let scriptCode: String
        let scriptMessage: String
    }
}
