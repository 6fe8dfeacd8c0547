import EventLoops
import LuaHost
import Synchronization

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
