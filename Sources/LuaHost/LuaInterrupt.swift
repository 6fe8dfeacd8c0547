import CLuaShims

/// Stops what a state is running.
///
/// Usable on any thread, also after the state is gone; not in a signal handler.
///
/// The run ends with a `LuaError` of kind `interrupted`: in a plain loop, in coroutines, under `while true do pcall(f)
/// end`, in message handlers, and when it waits in a system call such as `io.read`. It cannot be stopped while it is
/// inside a C function that computes (a hostile pattern, a huge sort), in a `__gc` finalizer, or in a debug hook.
/// A request belongs to the run that is going on: one that comes too late is void.
package final class LuaInterrupt: @unchecked Sendable {
    // Sendable because the shims guard it by a lock and an atomic reference count.
    private let handle: OpaquePointer

    init(_ state: LuaState) { handle = shim_interrupt_retain(state.main) }
    deinit { shim_interrupt_release(handle) }

    /// What code may do about a stop.
    package enum Force: Sendable {
        /// The error can be caught, once, as that of Ctrl-C in `lua`; what runs 200 ms later still is stopped for certain.
        case catchable
        /// Nothing that the code does keeps it going.
        case certain
    }

    /// Asks the run to stop; false when nothing is running.
    @discardableResult  // because often nobody cares whether there was something to stop
    package func request(_ force: Force = .certain) -> Bool {
        shim_interrupt_request(handle, force == .catchable, Int32(SHIM_STOP_INTERRUPT))
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
