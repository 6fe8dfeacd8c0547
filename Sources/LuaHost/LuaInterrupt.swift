import CLuaShims

/// Stops what a state is running.
///
/// Usable on any thread, also after the state is gone; not in a signal handler.
///
/// The run ends with a `LuaError` of kind `interrupted`: in a plain loop, in coroutines, under `while true do pcall(f)
/// end`, in message handlers, finalizers, debug hooks and pattern searches, and when it waits in a system call such as
/// `io.read`. A C function that computes, such as one of a C module, returns first.
/// A request belongs to the run that is going on: one that comes too late is void.
package final class LuaInterrupt: @unchecked Sendable {
    // Sendable because the shims guard it by a lock and an atomic reference count.
    private let handle: OpaquePointer

    init(_ state: LuaState) { handle = shim_interrupt_retain(state.main) }
    deinit { shim_interrupt_release(handle) }

    /// Whether code may catch a stop.
    package enum Force: Sendable {
        /// The error can be caught, once, as that of Ctrl-C in `lua`; what runs 200 ms later still is stopped for certain.
        case catchable
        /// Nothing that the code does keeps it going.
        case certain
    }

    /// Why a run is stopped: which error it raises.
    package enum Reason: Sendable {
        /// The user or the host wants it.
        case interrupt
        /// The script has lived for longer than it may.
        case totalTime

        fileprivate var code: Int32 {
            switch self {
            case .interrupt: Int32(SHIM_STOP_INTERRUPT)
            case .totalTime: Int32(SHIM_STOP_TOTAL_TIME)
            }
        }
    }

    /// Asks the run to stop; false when nothing is running.
    @discardableResult  // because often it does not matter whether there was something to stop
    package func request(_ force: Force = .certain, for reason: Reason = .interrupt) -> Bool {
        shim_interrupt_request(handle, force == .catchable, reason.code)
    }

    /// Whether a request has been made for a run that has not ended yet.
    package var isPending: Bool { shim_interrupt_pending(handle) }

    /// Whether one is to take effect now: not while the code, which has caught it once, has its time to tidy up.
    ///
    /// For work in Swift that may take long; on the state's thread. Costs a lock that is free.
    package var isDue: Bool { shim_interrupt_due(handle) }
}

extension LuaState {
    /// The handle by which other threads stop this state's code.
    package func makeInterrupt() -> LuaInterrupt {
        precondition(home.isOpen, "a closed Lua state was used")
        return LuaInterrupt(self)
    }
}
