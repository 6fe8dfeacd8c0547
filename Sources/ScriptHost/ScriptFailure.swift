import LuaHost
import MemoryAccounts

/// What went wrong in a script, as its host sees it.
public struct ScriptFailure: Error, Sendable, CustomStringConvertible {
    /// A stable word for programs: that of the error where it has one, such as `limit_exceeded`, `duplicate_key` or
    /// `interrupted`; `syntax` for a chunk that does not compile, else `error`.
    public var code: String
    /// What it is, with its place: `script:12: attempt to index a nil value`.
    public var message: String
    /// The calls that led to it, from the place that raised it outwards; nil where there are none.
    public var traceback: String?
    /// The very error that a Swift function threw, if one did.
    public var underlying: (any Error)?

    /// The limit that ended the run, if one did.
    public private(set) var limit: ScriptLimits.Kind?

    /// The message.
    public var description: String { message }

    package static let closed = ScriptFailure(code: "closed", message: "the engine has been closed")

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// On the thread of the error's state, because the raised value is asked for its code.
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
        code =
            switch error.kind {
            case .syntax: "syntax"
            case .memory: "limit_exceeded"
            case .closed: "closed"
            case .interrupted: error.limit?.scriptCode ?? "interrupted"
            case .runtime, .handler:
                (error.underlying as? any ScriptError)?.scriptCode
                    ?? error.value.table?["code"].text ?? "error"
            }
    }

    /// Errors of Lua and those with a code as failures, others as they are.
    package static func describing(_ error: any Error) -> any Error {
        switch error {
        case let error as LuaError: return ScriptFailure(error)
        case let error as any ScriptError:
            var failure = ScriptFailure(code: error.scriptCode, message: error.scriptMessage)
            failure.underlying = error
            return failure
        default: return error
        }
    }
}

/// An error of a Swift function that has a code of its own: what a script finds in `err.code` and `err.message`.
public struct ScriptFunctionError: Error, Equatable, ScriptError {
    /// A stable word for programs.
    package let scriptCode: String
    /// A sentence for people.
    package let scriptMessage: String

    /// An error to throw from a registered function.
    public init(_ code: String, _ message: String) {
        scriptCode = code
        scriptMessage = message
    }
}
