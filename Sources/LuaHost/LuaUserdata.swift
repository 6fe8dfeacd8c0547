import CLuaShims

/// A reference to a userdata.
///
/// Equality is identity.
package struct LuaUserdata: Hashable, Sendable {
    let reference: LuaReference

    /// Returns the Swift object of this class; nil for another class, or if the object was released.
    package func object<Object: AnyObject>(as type: LuaClass<Object>) -> Object? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.object(at: -1, of: type, on: L)
    }

    /// The Swift object in the userdata; nil for other userdata, or if the object was released.
    package var swiftObject: AnyObject? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        var cls: OpaquePointer?
        return shim_to_box(L, -1, &cls).map {
            Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The live object of the userdata: its class and key.
    package var liveObject: LuaLiveObject? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.liveObject(at: -1, on: L)
    }

    /// The members of a Swift object in the userdata, sorted by name; empty for other userdata.
    package var members: [LuaMember] {
        guard let state = reference.home.state else { return [] }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        var cls: OpaquePointer?
        guard shim_to_box(L, -1, &cls) != nil, let context = shim_class_context(cls) else {
            return []
        }
        return Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue().members
    }

    /// Converts the userdata of a Swift object to one of a live object, for all references to it, and releases the
    /// Swift object.
    ///
    /// Returns false, without an effect, if the userdata is of another kind or the live object's class is frozen.
    @discardableResult  // because a caller that has checked the value knows the result
    package func become(_ object: LuaLiveObject) -> Bool {
        guard let state = reference.home.state else { return false }
        let L = state.stack
        _ = shim_reserve(L, 8)
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return shim_box_becomes_object(L, shim_top(L), object.type.pointer, object.key)
    }

    /// Returns whether both refer to the same userdata.
    package static func == (a: LuaUserdata, b: LuaUserdata) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Hashes the identity of the userdata.
    package func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}

extension LuaState {
    func object<Object: AnyObject>(
        at index: Int32, of type: LuaClass<Object>, on L: OpaquePointer
    ) -> Object? {
        var cls: OpaquePointer?
        guard let pointer = shim_to_box(L, index, &cls), cls == classes[ObjectIdentifier(type)]
        else { return nil }
        // because a box of this class is only ever created with an Object
        return Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }

    func liveObject(at index: Int32, on L: OpaquePointer) -> LuaLiveObject? {
        var cls: OpaquePointer?
        var key: Int64 = 0
        guard shim_to_object(L, index, &cls, &key), let context = shim_class_context(cls) else {
            return nil
        }
        return LuaLiveObject(
            type: Unmanaged<LuaLiveClass>.fromOpaque(context).takeUnretainedValue(), key: key)
    }
}
