import CLuaShims
import MemoryAccounts
import SystemCalls

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
    /// The part of a text that is not valid: `err.line`, `err.column` and `err.length`; nil for other errors.
    var scriptRange: ScriptTextRange? { get }
}

extension ScriptError {
    /// Most errors concern no text.
    package var scriptRange: ScriptTextRange? { nil }
}

/// A part of one line of a text; lines and columns count from 1, in characters.
package struct ScriptTextRange: Hashable, Sendable {
    /// The line.
    package let line: Int
    /// The column of the first character.
    package let column: Int
    /// The number of characters, at least 1.
    package let length: Int

    /// Creates a range.
    package init(line: Int, column: Int, length: Int) {
        (self.line, self.column, self.length) = (line, column, length)
    }
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

// Converts errors in both directions: a Swift error becomes a userdata that holds it, and the userdata becomes the same
// error again.

/// The Swift error in the userdata that a script catches.
final class LuaErrorBox {
    let error: any Error
    let position: String
    let code: String
    let message: String

    /// The number of bytes of a message that a script with a memory limit receives.
    ///
    /// Messages repeat what a script has written.
    static let maxMessageBytes = 4096

    init(
        _ error: any Error, code: String, message: String, position: String, isShortened: Bool
    ) {
        self.error = error
        self.code = code
        self.message = isShortened ? Self.shortened(message) : message
        self.position = position
    }

    /// Returns a message that is not longer than ``greatestMessage``.
    static func shortened(_ message: String) -> String {
        guard message.utf8.count > maxMessageBytes else { return message }
        return String(decoding: message.utf8.prefix(maxMessageBytes - 100), as: UTF8.self) + "…"
    }

    private var range: ScriptTextRange? { (error as? any ScriptError)?.scriptRange }

    private static func set(_ number: Int?, _ result: borrowing LuaResult) {
        if let number { result.set(Int64(number)) } else { result.setNil() }
    }

    static let declaration = LuaClass<LuaErrorBox>(
        name: "error",
        properties: [
            LuaProperty("code") { $1.set($0.code) },
            LuaProperty("message") { $1.set($0.message) },
            LuaProperty("where") {
                $1.set($0.position.hasSuffix(": ") ? String($0.position.dropLast(2)) : $0.position)
            },
            LuaProperty("line") { set($0.range?.line, $1) },
            LuaProperty("column") { set($0.range?.column, $1) },
            LuaProperty("length") { set($0.range?.length, $1) },
        ],
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.position + $0.message)) },
            LuaMethod(
                "__concat",
                anyReceiver: { call in
                    let left = try call.state.describe(call[1])
                    let right = try call.state.describe(call[2])
                    return call.answer(.string(LuaString(bytes: left.bytes + right.bytes)))
                }),
        ],
        other: { _, key, _ in
            _ = key
            return false
        })
}

extension LuaState {
    /// Pops the error that a shim left on the stack, unless the status is success.
    @inline(__always)
    func check(_ status: Int32, on L: OpaquePointer) throws(LuaError) {
        if status != SHIM_OK { throw popError(status, on: L) }
    }

    func popError(_ status: Int32, on L: OpaquePointer) -> LuaError {
        _ = shim_reserve(L, 8)
        var kind: LuaError.Kind =
            switch Int(status) {
            case SHIM_MEMORY, SHIM_OVERFLOW: .memory
            case SHIM_HANDLER: .handler
            case SHIM_SYNTAX: .syntax
            case SHIM_STOPPED: .interrupted
            default: .runtime
            }
        let traceback =
            kind == .syntax ? nil : shim_last_traceback(main).map { String(cString: $0) }
        let box = errorBox(at: -1, on: L)
        let message: String
        if let box {
            message = box.position + box.message
            if box.error is LuaInterrupted || box.error is LuaLimitExceeded { kind = .interrupted }
            if box.error is MemoryLimitReached { kind = .memory }
        } else {
            shim_push_copy(L, -1)
            message = popMessage(on: L)
        }
        let value = pop(L)
        var error = LuaError(
            kind: kind, message: message, traceback: traceback, underlying: box?.error, value: value
        )
        error.code = box?.code
        return error
    }

    func box(_ error: any Error, position: String) -> LuaErrorBox {
        let (code, message) =
            switch error {
            case let error as any ScriptError:
                // Messages quote names and values, which scripts print.
                (error.scriptCode, ControlCharacters.escaped(error.scriptMessage))
            case let error as LuaError: ("error", error.message)
            default: describesError?(error) ?? ("error", "\(error)")
            }
        return LuaErrorBox(
            error, code: code, message: message, position: position,
            isShortened: account != nil)
    }

    func errorBox(at index: Int32, on L: OpaquePointer) -> LuaErrorBox? {
        guard shim_type(L, index) == SHIM_TUSERDATA else { return nil }
        return object(at: index, of: LuaErrorBox.declaration, on: L)
    }

    /// Pops an error value and returns its message.
    ///
    /// As in `lua.c`, the message is a string or a number unchanged, the result of `__tostring`, or the type. For a
    /// table whose field `message` is a string, it is that string.
    private func popMessage(on L: OpaquePointer) -> String {
        let type = shim_type(L, -1)
        let name = String(cString: shim_type_name(L, -1))
        var convertible = type == SHIM_TSTRING || type == SHIM_TNUMBER
        if !convertible, shim_get_metatable(L, -1) {
            pushField("__tostring", on: L)
            convertible = shim_type(L, -1) != SHIM_TNIL
            shim_settop(L, shim_top(L) - 2)
        }
        if !convertible, type == SHIM_TTABLE {
            pushField("message", on: L)
            if let message = pop(L).string {
                shim_settop(L, shim_top(L) - 1)
                return message.description
            }
        }
        // The conversion is a call, which fails after an overflow of the C stack.
        if type == SHIM_TSTRING || convertible && shim_tostring(L) == SHIM_OK {
            return popText(L)
        }
        shim_settop(L, shim_top(L) - 1)
        return "(error object is a \(name) value)"
    }

    /// Pops a string or a number as text; in a script with a memory limit, a very long text is cut.
    private func popText(_ L: OpaquePointer) -> String {
        var length = 0
        guard account != nil, let bytes = shim_bytes(L, -1, &length),
            length > LuaErrorBox.maxMessageBytes
        else { return pop(L).string?.description ?? "" }
        defer { shim_settop(L, shim_top(L) - 1) }
        let start = UnsafeRawBufferPointer(start: bytes, count: LuaErrorBox.maxMessageBytes)
        return String(decoding: start, as: UTF8.self) + "…"
    }

    /// Pushes a field of the table on top of the stack, without calling metamethods.
    private func pushField(_ name: String, on L: OpaquePointer) {
        name.utf8CString.withUnsafeBufferPointer { text in
            shim_push_bytes(L, text.baseAddress, text.count - 1)
            shim_rawget(L, -2)
        }
    }

    /// Pushes the value that a script catches for this error, and returns the sentinel that raises it.
    func raise(_ error: any Error, on L: OpaquePointer) -> Int32 {
        _ = shim_reserve(L, 8)
        if let error = error as? LuaError, error.kind != .closed {
            if error.value.reference.map({ $0.home === home }) ?? true {
                push(error.value, on: L)
                shim_keep_traceback(L, error.traceback)
                return Int32(SHIM_RAISE)
            }
        }
        shim_where(L, 1)
        let position = pop(L).string?.description ?? ""
        push(box(error, position: position), LuaErrorBox.declaration, on: L)
        return Int32(SHIM_RAISE)
    }

    /// Sets the error that a stop for this reason raises.
    ///
    /// It is created beforehand, because a debug hook cannot create it.
    func setStopError(_ error: any ScriptError, _ reason: Int) {
        stopErrors[reason] = error
        let L = stack
        push(box(error, position: ""), LuaErrorBox.declaration, on: L)
        shim_set_stop_value(L, Int32(reason))
    }

    /// Returns the value that a script would catch for this error.
    ///
    /// That is the raised value of a `LuaError`, or a userdata with `code` and `message` for any other error.
    package func value(of error: any Error) -> LuaValue {
        if let error = error as? LuaError, error.kind != .closed { return error.value }
        return userdata(box(error, position: ""), LuaErrorBox.declaration)
    }

    /// Returns the Swift error of a caught value: the original error if Swift threw it, otherwise a `LuaError` with the
    /// value.
    package func error(of value: LuaValue) -> any Error {
        let L = stack
        push(value, on: L)
        if let box = errorBox(at: -1, on: L) {
            shim_settop(L, shim_top(L) - 1)
            return box.error
        }
        return popError(Int32(SHIM_RUNTIME), on: L)
    }

    /// Returns `tostring(value)`; may run a `__tostring` metamethod, and throws its errors.
    package func describe(_ value: LuaValue) throws(LuaError) -> LuaString {
        let L = stack
        push(value, on: L)
        try check(shim_tostring(L), on: L)
        let result = string(at: -1, on: L)
        shim_settop(L, shim_top(L) - 1)
        return result
    }
}

/// How a function is called, according to the description of the API.
package struct LuaUsage: Sendable {
    /// The maximum number of arguments, without the receiver; nil for any number.
    package let maxArguments: Int?
    /// The call in messages: `store:objects(class)`.
    package let text: String
    /// For each argument that can be a table of options, without the receiver and counted from 1, its options.
    package let options: [Int: [Option]]

    /// A key of a table of options.
    package struct Option: Sendable {
        package let name: String
        /// Whether the value is true or false.
        package let isFlag: Bool

        package init(_ name: String, isFlag: Bool) { (self.name, self.isFlag) = (name, isFlag) }
    }

    /// Creates a usage.
    package init(maxArguments: Int?, text: String, options: [Int: [Option]]) {
        self.maxArguments = maxArguments
        self.text = text
        self.options = options
    }
}

extension LuaCall {
    /// The usage of the function; nil for a function that the API does not describe.
    var usage: LuaUsage? { function.owner.flatMap { state.usage?($0, name) } }

    /// Returns the options that an argument can have; nil if the API does not describe the function.
    package func knownOptions(_ index: Int) -> [LuaUsage.Option]? {
        guard let options = function.options ?? usage?.options else { return nil }
        function.options = options
        return options[function.isMethod ? index - 1 : index] ?? []
    }

    /// Throws `invalid_argument` for arguments other than nil beyond those of the function: a script that passes them
    /// expects something else of it.
    ///
    /// The usage is looked up when a call first has more arguments than those before. Until then, a call costs a
    /// comparison.
    func refuseSurplus() throws {
        guard let usage, let maximum = usage.maxArguments else {
            function.knownCount = .max
            return
        }
        let receiver = function.isMethod ? 1 : 0
        function.knownCount = maximum + receiver
        guard count > function.knownCount,
            (function.knownCount + 1...count).contains(where: { !isNil($0) })
        else { return }
        let arguments =
            switch maximum {
            case 0: "no arguments"
            case 1: "1 argument"
            default: "\(maximum) arguments"
            }
        throw LuaArgumentError(
            "'\(name)' takes \(arguments), got \(count - receiver); write \(usage.text)")
    }
}
