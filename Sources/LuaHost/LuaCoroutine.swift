import CLuaShims

/// A reference to a coroutine.
///
/// Equality is identity.
package struct LuaCoroutine: Hashable, Sendable {
    let reference: LuaReference

    /// The status of a coroutine.
    package enum Status: Int32, Sendable {
        case suspended, running, normal, dead
    }

    /// The outcome of resuming a coroutine.
    package enum Outcome: Sendable {
        /// The coroutine yielded these values and can be resumed.
        case yielded([LuaValue])
        /// The function of the coroutine returned these values.
        case returned([LuaValue])
    }

    /// The status that `coroutine.status` returns.
    package var status: Status {
        guard let state = reference.home.state else { return .dead }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        guard let thread = shim_to_thread(L, -1) else { return .dead }
        return Status(rawValue: shim_thread_status(L, thread)) ?? .dead
    }

    /// Starts or resumes the coroutine with these values.
    ///
    /// Throws the error that the coroutine raises, after which it is dead.
    package func resume(_ arguments: [LuaValue] = []) throws(LuaError) -> Outcome {
        let state = try reference.state()
        let L = state.stack
        guard shim_reserve(L, Int32(clamping: arguments.count + 8)) else { throw LuaError.overflow }
        state.push(reference, on: L)
        let base = shim_top(L)
        defer { shim_settop(L, base - 1) }
        guard let thread = shim_to_thread(L, -1) else { throw LuaError.closed }
        for argument in arguments { state.push(argument, on: L) }
        var count: Int32 = 0
        let status = shim_resume(L, thread, Int32(arguments.count), &count)
        if status == SHIM_YIELDED { return .yielded(state.popAll(above: base, on: L)) }
        try state.check(Int32(status), on: L)
        return .returned(state.popAll(above: base, on: L))
    }

    /// Returns whether both refer to the same coroutine.
    package static func == (a: LuaCoroutine, b: LuaCoroutine) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the coroutine.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}
