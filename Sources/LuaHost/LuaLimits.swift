import CLuaShims

/// A run has taken more than it may.
///
/// No code of the run can keep it going: `pcall` does not catch it for good, coroutines and `__close` handlers are stopped
/// as well.
package struct LuaLimitExceeded: ScriptError, Equatable, CustomStringConvertible {
    /// The limited resource.
    package enum Limit: String, Sendable {
        case time, instructions
    }

    /// The limit that was reached.
    package let limit: Limit
    /// `limit_exceeded`.
    package var scriptCode: String { "limit_exceeded" }
    /// Which limit, and how much it allows.
    package let scriptMessage: String
    /// The message.
    package var description: String { scriptMessage }

    init(time: Duration) { self.init(time, "time limit") }

    /// The error of a script that has lived for longer than it may.
    package init(totalTime: Duration) { self.init(totalTime, "total time limit") }

    private init(_ time: Duration, _ name: String) {
        limit = .time
        // As a decimal number without an exponent, and not longer than it has to be.
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let shown =
            seconds == seconds.rounded() && seconds < 1e15 ? "\(Int64(seconds))" : "\(seconds)"
        scriptMessage = "the \(name) of \(shown) s was reached"
    }

    init(instructions: Int64) {
        limit = .instructions
        scriptMessage = "the limit of \(instructions) instructions was reached"
    }
}

extension LuaState {
    /// The error of the requested stop; that of an interrupt when there is none.
    package var stopReason: any ScriptError {
        isStopping ? stopErrors[Int(shim_stop_reason(main))] ?? LuaInterrupted() : LuaInterrupted()
    }
}

extension LuaState {
    /// Limits how long each outermost run may take: a chunk, a function called from Swift, with all that they call.
    ///
    /// A run that is over its time ends with ``LuaLimitExceeded``, within some ten milliseconds. What a run spends inside of
    /// a C function that computes cannot be cut short: it is stopped after that. Costs a look at the clock for each run,
    /// nothing while it runs. Nil, the usual, for no limit. False when the system has no thread left to watch the time.
    ///
    /// Holds from the next run on.
    @discardableResult  // because a system without threads has run no script either
    package func setTimeLimit(_ limit: Duration?) -> Bool {
        guard let limit else { return shim_time_limit(main, 0) }
        setStopError(LuaLimitExceeded(time: limit), SHIM_STOP_TIME)
        let (seconds, attoseconds) = limit.components
        // Some 290 years are no limit.
        let nanoseconds =
            seconds >= 1 << 33
            ? Int64.max : max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        return shim_time_limit(main, nanoseconds)
    }

    /// Sets the error that a stop for the reason ``LuaInterrupt/Reason/totalTime`` raises.
    package func describeTotalTimeLimit(_ limit: Duration) {
        setStopError(LuaLimitExceeded(totalTime: limit), SHIM_STOP_TOTAL_TIME)
    }

    /// Limits how many instructions of Lua's virtual machine each outermost run may execute.
    ///
    /// Counted by the thousand; the resumption of a coroutine counts as a hundred. A run that exceeds it ends with
    /// ``LuaLimitExceeded``. Lua code runs at half its speed while there is a limit. Nil, the usual, for none.
    ///
    /// Set it before the first run: a coroutine that was made without a limit is not counted. A script with
    /// `debug.sethook` could take the limit off.
    package func setInstructionLimit(_ limit: Int64?) {
        guard let limit else { return shim_instruction_limit(main, 0) }
        setStopError(LuaLimitExceeded(instructions: limit), SHIM_STOP_INSTRUCTIONS)
        shim_instruction_limit(main, max(1, limit))
    }

    /// How many instructions the current run, or the last one, has executed; counted only with a limit.
    package var instructions: Int64 { shim_instructions(main) }
}
