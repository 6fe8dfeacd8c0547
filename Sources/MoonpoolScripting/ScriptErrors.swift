import EventLoops
import LuaHost
import MemoryAccounts
import Moonpool
import ScriptHost

// Every error that an engine throws or a registered function receives is a `MoonpoolError`.

extension ErrorCode {
    /// A chunk of Lua does not compile.
    public static let syntax: ErrorCode = "syntax"
    /// An error of a script or a Swift function without a code.
    public static let error: ErrorCode = "error"
}

extension ScriptFailure: MoonpoolError {}
extension ScriptFunctionError: MoonpoolError {}

extension ScriptTypeMismatch: MoonpoolError {
    /// `type_mismatch`.
    public var code: ErrorCode { .typeMismatch }
    /// The expected and the actual value.
    public var message: String { reason }
}

extension LoopError: MoonpoolError {
    /// `limit_exceeded`: the system has no thread or descriptor left.
    package var code: ErrorCode { .limitExceeded }
    /// The call and the system's message.
    package var message: String { description }
}

extension MoonpoolError where Self: ScriptError {
    /// The code in scripts.
    package var code: ErrorCode { ErrorCode(rawValue: scriptCode) }
    /// The message in scripts.
    package var message: String { scriptMessage }
}

extension LuaArgumentError: MoonpoolError {}
extension LuaInterrupted: MoonpoolError {}
extension LuaLimitExceeded: MoonpoolError {}
extension FileRefusal: MoonpoolError {}
extension MemoryLimitReached: MoonpoolError {}
extension MigrationFailure: MoonpoolError {}
