import CLuaShims

/// The error of a run that has exceeded a limit.
///
/// The run always ends: `pcall` cannot keep it running, and coroutines and `__close` handlers are stopped as well.
package struct LuaLimitExceeded: ScriptError, Equatable, CustomStringConvertible {
    /// The limited resource.
    package enum Limit: String, Sendable {
        case time, instructions
    }

    /// The limit that was reached.
    package let limit: Limit
    /// The code `limit_exceeded`.
    package var scriptCode: String { "limit_exceeded" }
    /// The message, with the limit and its value.
    package let scriptMessage: String
    /// The message.
    package var description: String { scriptMessage }

    init(time: Duration) { self.init(time, "time limit") }

    /// Creates the error of a script that has exceeded its total time limit.
    package init(totalTime: Duration) { self.init(totalTime, "total time limit") }

    private init(_ time: Duration, _ name: String) {
        limit = .time
        // The seconds are a decimal number without an exponent and without trailing zeros.
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
    /// The error of the requested stop; the error of an interrupt if no stop was requested.
    package var stopReason: any ScriptError {
        isStopping ? stopErrors[Int(shim_stop_reason(main))] ?? LuaInterrupted() : LuaInterrupted()
    }
}

extension LuaState {
    /// Limits the duration of each outermost run: a chunk, or a function called from Swift, including all calls from
    /// it.
    ///
    /// A run that exceeds its time ends with ``LuaLimitExceeded`` within about ten milliseconds. A C function that
    /// computes cannot be stopped before it returns. Each run reads the clock once; there is no cost while it runs.
    /// Nil, the default, removes the limit.
    ///
    /// Takes effect with the next run. Returns false if the system cannot create the thread that watches the time.
    @discardableResult  // because a system that cannot create threads cannot run scripts
    package func setTimeLimit(_ limit: Duration?) -> Bool {
        guard let limit else { return shim_time_limit(main, 0) }
        setStopError(LuaLimitExceeded(time: limit), SHIM_STOP_TIME)
        let (seconds, attoseconds) = limit.components
        // A limit of more than about 290 years is the same as no limit.
        let nanoseconds =
            seconds >= 1 << 33
            ? Int64.max : max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        return shim_time_limit(main, nanoseconds)
    }

    /// The time until the current run has exceeded its time limit; nil without a limit.
    package var timeLeft: Duration? {
        let left = shim_time_left(main)
        return left == .max ? nil : .nanoseconds(left)
    }

    /// Sets the error that a stop for the reason ``LuaInterrupt/Reason/totalTime`` raises.
    package func describeTotalTimeLimit(_ limit: Duration) {
        setStopError(LuaLimitExceeded(totalTime: limit), SHIM_STOP_TOTAL_TIME)
    }

    /// Limits the number of instructions of Lua's virtual machine that each outermost run may execute.
    ///
    /// Instructions are counted by the thousand; resuming a coroutine counts as a hundred. A run that exceeds the limit
    /// ends with ``LuaLimitExceeded``. Lua code runs at half its speed while there is a limit. Nil, the default,
    /// removes the limit.
    ///
    /// Set the limit before the first run: coroutines created without a limit are not counted. A script with
    /// `debug.sethook` can remove the limit.
    package func setInstructionLimit(_ limit: Int64?) {
        guard let limit else { return shim_instruction_limit(main, 0) }
        setStopError(LuaLimitExceeded(instructions: limit), SHIM_STOP_INSTRUCTIONS)
        shim_instruction_limit(main, max(1, limit))
    }

    /// The number of instructions that the current or the last run has executed; counted only with a limit.
    package var instructions: Int64 { shim_instructions(main) }
}
