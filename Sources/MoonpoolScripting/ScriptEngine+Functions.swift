import LuaHost

// Functions of Swift as functions of Lua. There is one `register` for each kind: with and without a result, async or not.

extension ScriptEngine {
    /// Gives the scripts a Swift function.
    ///
    /// The signature is what they call it, with names of its parameters for messages: `add(a, b)`, or `app.add(a, b)` in
    /// a table. Arguments are converted; one of another type is a Lua error that names it. What the function throws is
    /// raised in Lua, with `code` and `message`, and is `ScriptFailure.underlying` where it comes out again.
    ///
    /// Called on the engine's thread. Takes effect before the next run. Throws `invalid_argument` for a bad signature.
    public func register<each Argument: ScriptConvertible, Value: ScriptConvertible>(
        _ signature: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Value
    ) throws {
        try registerCall(
            signature, annotations(of: repeat (each Argument).self), annotations(of: Value.self)
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let value = try body(repeat arguments.next((each Argument).self))
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Gives the scripts a Swift function without a result.
    public func register<each Argument: ScriptConvertible>(
        _ signature: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Void
    ) throws {
        try registerCall(
            signature, annotations(of: repeat (each Argument).self), { [] }
        ) { (call, signature) in
            let (arguments, _) = try call.reader(signature)
            try body(repeat arguments.next((each Argument).self))
            return .none
        }
    }

    /// Gives the scripts an asynchronous Swift function; to them it is a function like any other.
    ///
    /// The script waits as in `moonpool.sleep`: its observers, timers and other runs continue meanwhile. When the
    /// script is stopped, the function's task is canceled.
    ///
    /// The function runs outside of the engine's thread. It cannot take or return live objects; the compiler refuses them. Use an
    /// `ObjectID` and a store of the function's own.
    public func register<each Argument: ScriptValue, Value: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (repeat each Argument) async throws -> Value
    ) throws {
        try registerCall(
            signature, annotations(of: repeat (each Argument).self), annotations(of: Value.self)
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let values = (repeat try arguments.next((each Argument).self))
            let value = try context.wait { try await body(repeat each values) }
            return call.answer(try value.toLua(in: context))
        }
    }

    /// Gives the scripts an asynchronous Swift function without a result.
    public func register<each Argument: ScriptValue>(
        _ signature: String,
        _ body: @escaping @Sendable (repeat each Argument) async throws -> Void
    ) throws {
        try registerCall(
            signature, annotations(of: repeat (each Argument).self), { [] }
        ) { (call, signature) in
            let (arguments, context) = try call.reader(signature)
            let values = (repeat try arguments.next((each Argument).self))
            try context.wait { try await body(repeat each values) }
            return .none
        }
    }

    func registerCall(
        _ signature: String, _ types: @escaping Annotations,
        _ results: @escaping Annotations,
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
