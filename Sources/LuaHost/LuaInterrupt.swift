import CLuaShims

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
