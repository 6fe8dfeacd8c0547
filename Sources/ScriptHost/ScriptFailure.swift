import LuaHost
import MemoryAccounts
import ObjectStore

/// An error in a script, for its host.
public struct ScriptFailure: Error, Sendable, CustomStringConvertible {
    /// The stable error code.
    ///
    /// The code of the error if it has one, such as `limit_exceeded`, `duplicate_key` or `interrupted`; `syntax` for a
    /// chunk that does not compile; `error` for other errors.
    public var code: StoreError.Code
    /// The message with its source location: `script:12: attempt to index a nil value`.
    public var message: String
    /// The call stack at the raising code, innermost call first; nil if there is none.
    public var traceback: String?
    /// The original error, if a Swift function threw it.
    public var underlying: (any Error)?

    /// The limit that ended the run; nil if no limit did.
    public private(set) var limit: ScriptLimits.Kind?

    /// The message.
    public var description: String { message }

    package static let closed = ScriptFailure(.closed, "the engine has been closed")

    package init(_ code: StoreError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates a failure; call it on the thread of the error's state, because the code is read from the raised value.
    package init(_ error: LuaError) {
        message = error.message
        traceback = error.traceback
        underlying = error.underlying
        limit =
            switch (error.kind, error.limit?.limit) {
            case (.memory, _): .memory
            case (_, .time?): .time
            case (_, .instructions?): .instructions
            default: error.underlying is MemoryLimitReached ? .memory : nil
            }
        let code =
            switch error.kind {
            case .syntax: "syntax"
            case .memory: "limit_exceeded"
            case .closed: "closed"
            case .interrupted: error.limit?.scriptCode ?? "interrupted"
            case .runtime, .handler:
                error.code ?? error.value.table?["code"].text ?? "error"
            }
        self.code = StoreError.Code(rawValue: code)
    }

    /// Returns errors of Lua and errors with a code as failures, and other errors unchanged.
    package static func describing(_ error: any Error) -> any Error {
        switch error {
        case let error as LuaError: return ScriptFailure(error)
        case let error as any ScriptError:
            var failure = ScriptFailure(
                StoreError.Code(rawValue: error.scriptCode), error.scriptMessage)
            failure.underlying = error
            return failure
        default: return error
        }
    }
}

/// An error of a Swift function with its own code; scripts read it as `err.code` and `err.message`.
public struct ScriptFunctionError: Error, Hashable, ScriptError {
    /// The stable code.
    public let code: StoreError.Code
    /// A message of one sentence.
    public let message: String

    /// Creates an error to throw from a registered function.
    public init(_ code: StoreError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The text of the code.
    package var scriptCode: String { code.rawValue }
    /// The message.
    package var scriptMessage: String { message }
}
