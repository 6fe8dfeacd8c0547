import LuaHost
import ObjectStore

/// A Lua function that is sent to the state of another thread: its code, without its environment.
package struct SentFunction: Sendable {
    private let code: [UInt8]
    private let upvalues: [Upvalue]

    /// A variable of the enclosing code that a sent function may use.
    private enum Upvalue: Sendable {
        /// The global environment.
        case environment
        /// A local that holds the module `moonpool`; the receiver uses its own module.
        case module
    }

    /// Copies the code of a function.
    ///
    /// `role` is the name of the function in messages: `the function of worker 'cache'`. Throws `invalid_argument` for
    /// a function that is not written in Lua, and for one that uses a local of the enclosing code other than the module
    /// `moonpool`; the message contains the name of the local.
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

    /// Loads the function into the receiver's state, with the globals of that state.
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
