import EventLoops
import LuaHost

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
                do {
                    delivery.succeed(try context.entry { () throws in try body(context) })
                } catch {
                    delivery.fail(ScriptFailure.describing(error))
                }
            }
        }
    }
}
