import LuaHost
import ObjectStore

/// A Lua function on its way to another thread's state: its code, without anything of the script around it.
public struct SentFunction: Sendable {
    private let code: [UInt8]

    /// Takes a function's code.
    ///
    /// `role` names the function in messages: `the function of worker 'cache'`. Throws `invalid_argument` for a function
    /// that uses a local of the code around it, naming the local, and for one that is not written in Lua.
    public init(_ function: LuaFunction, role: String) throws {
        for (name, _) in function.upvalues where name != "_ENV" {
            let shown =
                name.isEmpty || name.hasPrefix("(")
                ? "a local of the code around it" : "the local '\(name)' of the code around it"
            throw StoreError(
                .invalidArgument,
                "\(role) uses \(shown), which another thread cannot see; pass it as an argument, or make it "
                    + "inside the function")
        }
        do throws(LuaError) {
            code = try function.dump()
        } catch {
            throw StoreError(
                .invalidArgument,
                "\(role) is not written in Lua; wrap it in function() … end to use it on another thread"
            )
        }
    }

    /// The function in the receiver's state; its globals are those of that state.
    public func load(in state: LuaState) throws(LuaError) -> LuaFunction {
        try state.load(LuaString(bytes: code), name: "=function", mode: .binary)
    }
}
