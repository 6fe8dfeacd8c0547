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

    /// The status that `coroutine.status` returns.
    package var status: Status {
        guard let state = reference.home.state else { return .dead }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        guard let thread = shim_to_thread(L, -1) else { return .dead }
        return Status(rawValue: shim_thread_status(L, thread)) ?? .dead
    }

    /// Returns whether both refer to the same coroutine.
    package static func == (a: LuaCoroutine, b: LuaCoroutine) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the coroutine.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}
