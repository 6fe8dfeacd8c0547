import CLuaShims

/// An error raised in Lua.
package struct LuaError: Error, Sendable, CustomStringConvertible {
    /// The phase in which the error occurred.
    package enum Kind: String, Sendable {
        /// The chunk does not compile.
        case syntax
        /// An error raised by running code.
        case runtime
        /// The memory limit was reached, or the stack is full.
        case memory
        /// An error raised in a message handler or a finalizer.
        case handler
        /// The run was interrupted, or stopped by a limit: see ``LuaError/limit``.
        case interrupted
        /// The state is closed.
        case closed
    }

    /// The phase in which the error occurred.
    package var kind: Kind
    /// The message, as Lua prints it: `file.lua:12: message`.
    package var message: String
    /// The call stack at the raising code, innermost call first.
    ///
    /// Nil for syntax errors and out of memory.
    package var traceback: String?
    /// The Swift error, if a Swift function raised this error.
    package var underlying: (any Error)?
    /// The error code of ``underlying`` in scripts.
    package var code: String?
    /// The raised value; throwing this error into Lua raises the value again.
    package var value: LuaValue

    /// Creates an error that a host raises in place of an error of another state.
    package init(
        kind: Kind, message: String, traceback: String?, underlying: (any Error)?, value: LuaValue
    ) {
        self.kind = kind
        self.message = message
        self.traceback = traceback
        self.underlying = underlying
        self.value = value
    }

    /// Whether the chunk could become valid with more text, by the rule of `lua.c` for continuation lines.
    package var isIncomplete: Bool { kind == .syntax && message.hasSuffix("<eof>") }
    /// The limit that stopped the run; nil if no limit did.
    package var limit: LuaLimitExceeded? { underlying as? LuaLimitExceeded }
    /// The message.
    package var description: String { message }

    static let closed = LuaError(
        kind: .closed, message: "the Lua state is closed", traceback: nil, underlying: nil,
        value: .nil)
    static let overflow = LuaError(
        kind: .memory, message: "stack overflow", traceback: nil, underlying: nil,
        value: .text("stack overflow"))
}

/// An error with a code and a message for scripts.
///
/// Any other error that is thrown into Lua has the code `error`.
package protocol ScriptError: Error {
    /// A stable identifier for programs: `err.code`.
    var scriptCode: String { get }
    /// A sentence without a source location: `err.message`.
    var scriptMessage: String { get }
}

/// The error of a run that was interrupted.
package struct LuaInterrupted: ScriptError, Equatable {
    /// The code `interrupted`.
    package var scriptCode: String { "interrupted" }
    /// The message in scripts.
    package var scriptMessage: String { "interrupted" }

    /// Creates the error of an interrupted run.
    package init() {}
}

/// The error of an invalid argument.
package struct LuaArgumentError: ScriptError, Equatable {
    /// The code `invalid_argument`.
    package var scriptCode: String { "invalid_argument" }
    /// The complete message, with the number of the argument and the name of the function.
    package var scriptMessage: String

    /// Creates an error with this message.
    package init(_ message: String) { scriptMessage = message }
}
