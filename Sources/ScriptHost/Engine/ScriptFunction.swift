import EventLoops
import LuaHost

/// A Lua function that Swift has been given, and may call later.
package struct ScriptFunction: ScriptValue, Hashable {
    private let function: LuaFunction
    private let caller: FunctionCaller
    // Known for good, because only the script's thread can ask Lua.
    private let address: UInt

    /// `function`.
    package static var scriptTypeName: String { "function" }

    /// A function.
    package static func fromLua(_ value: LuaValue, in context: ScriptContext)
        throws(ScriptTypeMismatch) -> ScriptFunction
    {
        guard let function = value.function else {
            throw ScriptTypeMismatch(expected: scriptTypeName, found: value)
        }
        return ScriptFunction(
            function: function, caller: FunctionCaller(context.signals, context.loop),
            address: function.address)
    }

    /// The function.
    package func toLua(in context: ScriptContext) -> LuaValue { .function(function) }

    /// Calls it on its script's thread, between what else runs there, and converts its first result.
    ///
    /// From any thread. Throws ``ScriptFailure``.
    package func call<Value: ScriptValue>(
        _ arguments: any ScriptValue..., as type: Value.Type = Value.self
    ) async throws -> Value {
        let function = function
        return try await caller.perform { context in
            let results = try function.call(arguments.map { try $0.toLua(in: context) })
            return try context.convert(results.first ?? .nil, to: type, "the result")
        }
    }

    /// Calls it when its script has time, without waiting for that; its errors are reported as those of an observer.
    ///
    /// From any thread.
    package func post(_ arguments: any ScriptValue...) {
        let function = function
        caller.post { context in
            let values = try? arguments.map { try $0.toLua(in: context) }
            context.callback("function called by the host", function, values ?? [])
        }
    }

    /// Whether both are the same function; on any thread.
    package static func == (a: ScriptFunction, b: ScriptFunction) -> Bool {
        a.address == b.address
    }
    /// Identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

/// The way to the thread of a function's script, for as long as that goes on.
private final class FunctionCaller: Sendable {
    private let signals: ScriptSignals
    private let loop: EventLoop

    init(_ signals: ScriptSignals, _ loop: EventLoop) {
        self.signals = signals
        self.loop = loop
    }

    func post(_ job: @escaping @Sendable (ScriptContext) -> Void) {
        let signals = signals
        loop.post { signals.context.map(job) }
    }

    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (ScriptContext) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let delivery = EngineDelivery(continuation)
            post { context in
                guard !context.isExiting else { return delivery.fail(ScriptFailure.closed) }
                do {
                    delivery.succeed(try context.entry { () throws in try body(context) })
                } catch {
                    delivery.fail(ScriptFailure.describing(error))
                }
            }
        }
    }
}
