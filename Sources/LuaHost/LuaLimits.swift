import CLuaShims
import MemoryAccounts

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

/// The memory of a state, in bytes as counted by Lua.
package struct LuaMemory: Sendable, Equatable {
    /// The current memory.
    package var used: Int
    /// The highest memory so far.
    package var peak: Int

    /// Makes the process map large blocks of its heap one by one, so that they take memory only while they are used.
    ///
    /// Such blocks are slower to create; call it in a process with a memory limit.
    package static func mapLargeBlocks() { shim_map_large_blocks() }

    /// Returns free memory of the process's heap to the system.
    ///
    /// Takes up to some milliseconds.
    package static func trimHeap() { shim_trim_heap() }
}

extension LuaState {
    /// The memory of all Lua values.
    ///
    /// Swift objects behind userdata are not counted.
    package var memory: LuaMemory {
        let figures = shim_memory_figures(main)
        return LuaMemory(used: figures.used, peak: figures.peak)
    }

    /// The account that the state's memory is charged to; nil without a limit.
    package var account: MemoryAccount? { home.account }

    /// Charges memory that the state allocates from now on to its account.
    ///
    /// Earlier allocations are not charged. If the account refuses memory, the code receives ``MemoryLimitReached``
    /// with the code `limit_exceeded`. Idempotent; has no effect without an account.
    package func countMemory() {
        guard let account else { return }
        let L = stack
        push(
            box(MemoryLimitReached(limit: account.limit), position: ""),
            LuaErrorBox.declaration, on: L)
        shim_set_memory_error(L)
        shim_count_memory(main)
    }

    /// Throws if the account has less than this number of bytes left; call it in functions that build large values.
    ///
    /// The bytes are a temporary allocation of the caller. Collects garbage before it throws, if a collection is
    /// worthwhile. Costs less than a tenth of a microsecond.
    package func checkMemory(adding bytes: Int = 0) throws(MemoryLimitReached) {
        guard let account, !account.hasSpace(for: bytes) else { return }
        if account.needsCollection {
            shim_collect_now(stack)
        }
        try account.requireSpace(for: bytes)
    }

    /// Runs a full garbage collection.
    ///
    /// Finalizers run.
    package func collectGarbage() { shim_collect(stack) }
}

extension MemoryAccount {
    /// The required action before a host call.
    var pressure: Int {
        if needsCollection { return SHIM_PRESSURE_COLLECT }
        guard isExhausted else { return SHIM_PRESSURE_NONE }
        return collectsBeforeRefusal ? SHIM_PRESSURE_EXHAUSTED : SHIM_PRESSURE_REFUSE
    }
}

extension MemoryLimitReached: ScriptError {
    /// The code `limit_exceeded`.
    package var scriptCode: String { "limit_exceeded" }
    /// The message, which names the limit.
    package var scriptMessage: String { description }
}

/// Stops the code that a state is running.
///
/// Usable on any thread, also after the state was released, but not in a signal handler.
///
/// The run ends with a `LuaError` of kind `interrupted`. This works in a plain loop, in coroutines, under `while true
/// do pcall(f) end`, in message handlers, finalizers, debug hooks and pattern searches, and in a blocking system call
/// such as `io.read`. A C function that computes, such as one of a C module, returns first. A request applies to the
/// current run only; without a running chunk, it has no effect.
package final class LuaInterrupt: @unchecked Sendable {
    // Sendable because the shims guard it by a lock and an atomic reference count.
    private let handle: OpaquePointer

    init(_ state: LuaState) { handle = shim_interrupt_retain(state.main) }
    deinit { shim_interrupt_release(handle) }

    /// Whether code can catch a stop.
    package enum Force: Sendable {
        /// The code can catch the error once, like Ctrl-C in `lua`; after another 200 ms the run is stopped in any
        /// case.
        case catchable
        /// The code cannot prevent the stop.
        case certain
    }

    /// The reason for a stop, which determines the error that it raises.
    package enum Reason: Sendable {
        /// A request of the user or the host.
        case interrupt
        /// The total time limit of the script.
        case totalTime

        fileprivate var code: Int32 {
            switch self {
            case .interrupt: Int32(SHIM_STOP_INTERRUPT)
            case .totalTime: Int32(SHIM_STOP_TOTAL_TIME)
            }
        }
    }

    /// Requests a stop of the current run; returns false if nothing is running.
    @discardableResult  // because many callers do not need to know whether code was running
    package func request(_ force: Force = .certain, for reason: Reason = .interrupt) -> Bool {
        shim_interrupt_request(handle, force == .catchable, reason.code)
    }

    /// Whether a stop was requested for a run that has not ended yet.
    package var isPending: Bool { shim_interrupt_pending(handle) }

    /// Whether a requested stop must take effect now; false while code that has caught the stop has time for cleanup.
    ///
    /// For long operations in Swift, on the state's thread. Costs an uncontended lock.
    package var isDue: Bool { shim_interrupt_due(handle) }
}

/// The states that have code on one of several stacks of a thread.
///
/// A stop reaches the code that the calling thread executes. A host that switches between stacks keeps one of these for
/// each stack, and exchanges it before and after the code on that stack runs.
package struct LuaRunningStates {
    private var innermost: UnsafeMutableRawPointer?

    /// Creates the value of a stack without code.
    package init() {}

    /// Exchanges the value with that of the calling thread.
    package mutating func exchange() { innermost = shim_exchange_running(innermost) }
}

extension LuaState {
    /// Creates a handle with which other threads can stop this state's code.
    package func makeInterrupt() -> LuaInterrupt {
        precondition(home.isOpen, "a closed Lua state was used")
        return LuaInterrupt(self)
    }
}
