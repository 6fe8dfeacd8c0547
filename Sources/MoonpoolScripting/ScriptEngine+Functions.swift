import LuaHost

// Swift functions as Lua functions. There is one `register` for each kind: with and without a result, async or not.

extension ScriptEngine {
    /// Registers a Swift function for scripts.
    ///
    /// The signature is the name in Lua, with names of the parameters for messages: `add(a, b)`, or `app.add(a, b)` in
    /// a table. Arguments are converted. An argument of a wrong type raises a Lua error that contains its name. An
    /// error of the function is raised in Lua with `code` and `message`. If the script does not catch it, it is the
    /// `underlying` error of the `ScriptFailure`.
    ///
    /// The function is called on the engine's thread. The function is available from the next run on. Throws
    /// `invalid_argument` for an invalid signature.
    public func register<each Argument: ScriptConvertible, Value: ScriptConvertible>(
        _ signature: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Value
    ) throws {
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let value = try body(repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Registers a Swift function without a result for scripts.
    public func register<each Argument: ScriptConvertible>(
        _ signature: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Void
    ) throws {
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self), results: { [] }
        ) { (call, signature) in
            let (arguments, _) = try call.reader(signature)
            try body(repeat arguments.next((each Argument).self))
            return .none
        }
    }

    /// Registers an asynchronous Swift function for scripts, which call it like any other function.
    ///
    /// The script waits as in `moonpool.sleep`, while its observers, timers and other runs continue. If the script is
    /// stopped, the function's task is canceled.
    ///
    /// The function runs outside of the engine's thread. The compiler does not allow live objects as arguments or
    /// results. Use an `ObjectID` and a separate store in the function.
    public func register<each Argument: ScriptValue, Value: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (repeat each Argument) async throws -> Value
    ) throws {
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self),
            results: annotations(of: Value.self)
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let values = (repeat try arguments.next((each Argument).self))
            let value = try context.wait { try await body(repeat each values) }
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Registers an asynchronous Swift function without a result for scripts.
    public func register<each Argument: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (repeat each Argument) async throws -> Void
    ) throws {
        try registerCall(
            signature, types: annotations(of: repeat (each Argument).self), results: { [] }
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let values = (repeat try arguments.next((each Argument).self))
            try context.wait { try await body(repeat each values) }
            return .none
        }
    }

    func registerCall(
        _ signature: String, types: @escaping Annotations, results: @escaping Annotations,
        _ body: @escaping @Sendable (borrowing LuaCall, FunctionSignature) throws -> LuaAnswer
    ) throws {
        let signature = try FunctionSignature(signature)
        let name = try GlobalName(signature.name)
        stubRegistry.declare(FunctionStub(signature, types: types, results: results))
        script.post { context in
            let function = context.state.makeFunction(name.name) { call in
                let answer = try body(call, signature)
                // An assignment to a live object cannot throw itself.
                try HostStores.of(ScriptContext.of(call.state)).throwFailure()
                return answer
            }
            context[name] = .function(function)
        }
    }
}
