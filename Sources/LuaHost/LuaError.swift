import CLuaShims

/// An error in Lua, as Swift sees it.
package struct LuaError: Error, Sendable, CustomStringConvertible {
    /// Where in the life of a chunk it happened.
    package enum Kind: String, Sendable {
        /// The chunk does not compile.
        case syntax
        /// Raised while running.
        case runtime
        /// The quota was reached, or the stack is full.
        case memory
        /// Raised in a message handler or finalizer of its own.
        case handler
        /// The run was stopped from outside, or by one of its limits: see ``LuaError/limit``.
        case interrupted
        /// The state is closed.
        case closed
    }

    /// Where in the life of a chunk it happened.
    package var kind: Kind
    /// The message that Lua prints: `file.lua:12: message`.
    package var message: String
    /// The calls that led to it, starting at the place that raised.
    ///
    /// Nil for syntax errors and out of memory.
    package var traceback: String?
    /// The very error that was thrown, when a Swift function raised this.
    package var underlying: (any Error)?
    /// The `code` under which scripts catch ``underlying``.
    package var code: String?
    /// The raised value itself; throwing this error back into Lua raises that value again.
    package var value: LuaValue

    /// An error that a host raises in place of one of another state.
    package init(
        kind: Kind, message: String, traceback: String?, underlying: (any Error)?, value: LuaValue
    ) {
        self.kind = kind
        self.message = message
        self.traceback = traceback
        self.underlying = underlying
        self.value = value
    }

    /// Whether a chunk that failed so may become valid if more text follows (`lua.c`'s rule for continued lines).
    package var isIncomplete: Bool { kind == .syntax && message.hasSuffix("<eof>") }
    /// The limit that stopped the run, if one did.
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

/// An error with the two things that a script can ask of it.
///
/// Errors thrown into Lua that are none get code `error`.
package protocol ScriptError: Error {
    /// A stable word for programs: `err.code`.
    var scriptCode: String { get }
    /// A sentence for people, without a position: `err.message`.
    var scriptMessage: String { get }
}

/// Raised in a run that was stopped from outside.
package struct LuaInterrupted: ScriptError, Equatable {
    /// `interrupted`.
    package var scriptCode: String { "interrupted" }
    /// The message that a script sees.
    package var scriptMessage: String { "interrupted" }

    /// The error of a stop.
    package init() {}
}

/// An argument that a function cannot take.
package struct LuaArgumentError: ScriptError, Equatable {
    /// `invalid_argument`.
    package var scriptCode: String { "invalid_argument" }
    /// The whole message, with the argument's number and the function's name.
    package var scriptMessage: String

    /// An error with this message.
    package init(_ message: String) { scriptMessage = message }
}
