import EventLoops
import LuaHost
import Synchronization

/// A Lua function that Swift code can keep and call.
public struct ScriptFunction: ScriptValue, Hashable {
    private let function: LuaFunction
    private let link: ScriptLink
    // Stored for comparisons on any thread, because only the script's thread can access Lua.
    private let address: UInt

    /// `function`.
    public static var scriptTypeName: String { "function" }

    /// Converts a function.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> ScriptFunction
    {
        guard let function = operand.lua.function else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        }
        return ScriptFunction(
            function: function, link: conversion.context.link, address: function.address)
    }

    /// Returns the function.
    public func toScript(in conversion: ScriptConversion) -> ScriptOperand {
        ScriptOperand(.function(function))
    }

    /// Calls the function on its script's thread, between other callbacks, and converts its first result.
    ///
    /// Usable on any thread. Throws `ScriptFailure`.
    public func call<Value: ScriptValue>(
        _ arguments: any ScriptValue..., as type: Value.Type = Value.self
    ) async throws -> Value {
        let function = function
        return try await link.perform { context in
            let results = try function.call(arguments.map { try $0.toLua(in: context) })
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Schedules a call of the function and returns immediately.
    ///
    /// Errors are reported like those of an observer.
    ///
    /// Usable on any thread.
    public func post(_ arguments: any ScriptValue...) {
        let function = function
        link.postToScript { context in
            let values = try? arguments.map { try $0.toLua(in: context) }
            context.callback("function called by the host", function, values ?? [])
        }
    }

    /// Returns whether both are the same function.
    ///
    /// Usable on any thread.
    public static func == (a: ScriptFunction, b: ScriptFunction) -> Bool {
        a.address == b.address
    }
    /// Hashes the identity of the function.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

extension ScriptLink {
    /// Runs a Swift closure on the script's thread, between its callbacks.
    ///
    /// Throws `closed` after the end of the script.
    fileprivate func perform<Value: Sendable>(
        _ body: @escaping @Sendable (ScriptContext) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let delivery = EngineDelivery(continuation)
            postToScript { context in
                guard !context.isExiting else { return delivery.fail(ScriptFailure.closed) }
                let result = Result { try context.entry { () throws in try body(context) } }
                delivery.end(result, in: context)
            }
        }
    }
}

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

/// Reads and converts the arguments of a call, one after the other.
final class ArgumentReader {
    let values: [LuaValue]
    private let context: ScriptContext
    private let signature: FunctionSignature
    private var index = 0

    init(_ values: [LuaValue], _ context: ScriptContext, _ signature: FunctionSignature) {
        self.values = values
        self.context = context
        self.signature = signature
    }

    /// Returns the next argument.
    ///
    /// An error contains the number and name of the argument.
    func next<Value: ScriptConvertible>(_ type: Value.Type) throws(LuaArgumentError) -> Value {
        let value = index < values.count ? values[index] : .nil
        index += 1
        do throws(ScriptTypeMismatch) {
            return try type.fromLua(value, in: context)
        } catch {
            var reason = error
            if reason.path.isEmpty, index > values.count { reason.found = "no value" }
            let name =
                index <= signature.parameters.count ? " '\(signature.parameters[index - 1])'" : ""
            throw LuaArgumentError(
                "bad argument #\(index)\(name) to '\(signature.name)' (\(reason.reason))")
        }
    }
}

extension LuaCall {
    /// Returns a reader of the arguments of a call, which are converted one by one, and the script.
    borrowing func reader(
        from first: Int = 1, _ signature: FunctionSignature
    ) throws -> (ArgumentReader, ScriptContext) {
        let context = try ScriptContext.of(state)
        return (ArgumentReader(rest(from: first), context, signature), context)
    }
}

extension ScriptContext {
    /// Returns the script of a Lua state.
    static func of(_ state: LuaState) throws -> ScriptContext {
        guard let context = state.host as? ScriptContext else { throw ScriptFailure.closed }
        return context
    }

    /// Waits for work on another thread, while the loop continues with observers, timers and other runs.
    ///
    /// If the script is stopped, cancels the work and does not wait for it.
    func wait<Value: Sendable>(
        for work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        try checkMayWait()
        let outcome = Outcome<Value>()
        let link = link
        let task = Task.detached {
            do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
            link.postToScript { _ in }
        }
        defer { task.cancel() }
        try wait { outcome.value != nil }
        guard let value = outcome.value else { throw state.stopReason }
        return try value.get()
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    private let state = Mutex<Result<Value, any Error>?>(nil)
    var value: Result<Value, any Error>? { state.withLock { $0 } }
    func set(_ value: Result<Value, any Error>) { state.withLock { $0 = value } }
}
