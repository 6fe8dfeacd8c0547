import CLuaShims

/// A reference to a Lua function.
///
/// Equality is identity.
package struct LuaFunction: Hashable, Sendable {
    let reference: LuaReference

    /// Calls the function and returns all its results.
    ///
    /// Throws the error that the function raises, with a traceback of the raising code.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ arguments: [LuaValue] = []) throws(LuaError) -> [LuaValue] {
        let state = try reference.state()
        return try state.call(.function(self), arguments, with: shim_call)
    }

    /// Calls the function and returns its first result, or `nil`.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ arguments: LuaValue...) throws(LuaError) -> LuaValue {
        try call(arguments).first ?? .nil
    }

    /// Calls the function as `lua` calls a chunk.
    ///
    /// An error object with a `__tostring` is converted to text where it is raised. The call throws this text without a
    /// traceback.
    @discardableResult  // because many chunks run for their side effects
    package func callAsChunk(_ arguments: [LuaValue] = []) throws(LuaError) -> [LuaValue] {
        let state = try reference.state()
        return try state.call(.function(self), arguments, with: shim_call_described)
    }

    /// Returns the binary form of a Lua function, as `string.dump` does, without the values of its upvalues.
    package func dump(stripped: Bool = false) throws(LuaError) -> [UInt8] {
        let state = try reference.state()
        let L = state.stack
        state.push(reference, on: L)
        try state.check(shim_dump(L, stripped), on: L)
        let bytes = state.string(at: -1, on: L).bytes
        shim_settop(L, shim_top(L) - 1)
        return bytes
    }

    /// Assigns a value to an upvalue, counted from 0; other closures that share the upvalue see the new value.
    ///
    /// Returns false if there is no such upvalue.
    @discardableResult  // because a caller that has counted the upvalues knows the result
    package func setUpvalue(_ index: Int, _ value: LuaValue) -> Bool {
        guard let state = reference.home.state else { return false }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        let function = shim_top(L)
        state.push(value, on: L)
        return shim_set_upvalue(L, function, Int32(clamping: index + 1))
    }

    /// The names and values of the upvalues, in order.
    package var upvalues: [(name: String, value: LuaValue)] {
        guard let state = reference.home.state else { return [] }
        let L = state.stack
        state.push(reference, on: L)
        var result: [(name: String, value: LuaValue)] = []
        while let name = shim_push_upvalue(L, -1, Int32(result.count + 1)) {
            result.append((String(cString: name), state.pop(L)))
        }
        shim_settop(L, shim_top(L) - 1)
        return result
    }

    /// Returns whether both refer to the same function.
    package static func == (a: LuaFunction, b: LuaFunction) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the function.
    package func hash(into hasher: inout Hasher) { hasher.combine(address) }

    /// An address that identifies the function while it is alive.
    package var address: UInt { reference.address }
}

extension LuaState {
    /// Calls any callable value and returns all its results.
    @discardableResult  // because many functions are called for their side effects
    package func call(_ callee: LuaValue, _ arguments: [LuaValue]) throws(LuaError) -> [LuaValue] {
        try call(callee, arguments, with: shim_call)
    }

    func call(
        _ callee: LuaValue, _ arguments: [LuaValue],
        with body: (OpaquePointer?, Int32, Int32) -> Int32
    ) throws(LuaError) -> [LuaValue] {
        let L = stack
        guard shim_reserve(L, Int32(clamping: arguments.count + 8)) else { throw LuaError.overflow }
        let base = shim_top(L)
        push(callee, on: L)
        for argument in arguments { push(argument, on: L) }
        try check(body(L, Int32(arguments.count), -1), on: L)
        return popAll(above: base, on: L)
    }

    func popAll(above base: Int32, on L: OpaquePointer) -> [LuaValue] {
        let top = shim_top(L)
        guard top > base else { return [] }
        _ = shim_reserve(L, 4)
        let results = (base + 1...top).map { value(at: $0, on: L) }
        shim_settop(L, base)
        return results
    }
}
