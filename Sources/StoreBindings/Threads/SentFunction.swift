import LuaHost
import ObjectStore

/// A Lua function for another thread's state: its code, without its environment.
package struct SentFunction: Sendable {
    private let code: [UInt8]
    private let upvalues: [Upvalue]

    /// The variables of the enclosing code that a function may use.
    private enum Upvalue: Sendable {
        /// The globals.
        case environment
        /// A local with the module `moonpool`. The receiver uses its own module.
        case module
    }

    /// Copies a function's code.
    ///
    /// `role` names the function in messages: `the function of worker 'cache'`. Throws `invalid_argument` for a function
    /// that uses a local of the enclosing code, naming the local, unless that is the module `moonpool`, and for one that is
    /// not written in Lua.
    package init(_ function: LuaFunction, of module: StoreModule, role: String) throws {
        do throws(LuaError) {
            code = try function.dump()
        } catch {
            throw StoreError(
                .invalidArgument,
                "\(role) is not written in Lua; wrap it in function() … end to use it on another thread"
            )
        }
        upvalues = try function.upvalues.map { name, value in
            if name == "_ENV" { return .environment }
            if value == .table(module.table) { return .module }
            let shown =
                name.isEmpty || name.hasPrefix("(")
                ? "a local of the enclosing code" : "the local '\(name)' of the enclosing code"
            throw StoreError(
                .invalidArgument,
                "\(role) uses \(shown), which another thread cannot access; pass it as an argument, or create it "
                    + "inside the function")
        }
    }

    /// Loads the function in the receiver's state, with that state's globals.
    package func load(in module: StoreModule) throws(LuaError) -> LuaFunction {
        let state = module.state
        let function = try state.load(LuaString(bytes: code), name: "=function", mode: .binary)
        for (index, upvalue) in upvalues.enumerated() {
            switch upvalue {
            case .environment: function.setUpvalue(index, .table(state.globals))
            case .module: function.setUpvalue(index, .table(module.table))
            }
        }
        return function
    }
}
