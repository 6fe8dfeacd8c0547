import CLuaShims

/// A reference to a userdata.
///
/// Equality is identity.
public struct LuaUserdata: Hashable, Sendable {
    let reference: LuaReference

    /// The Swift object in it, if it is one of this class and still there.
    public func object<Object: AnyObject>(as type: LuaClass<Object>) -> Object? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.object(at: -1, of: type, on: L)
    }

    /// The live object that it is: its class and key.
    public var liveObject: LuaLiveObject? {
        guard let state = reference.home.state else { return nil }
        let L = state.stack
        state.push(reference, on: L)
        defer { shim_settop(L, shim_top(L) - 1) }
        return state.liveObject(at: -1, on: L)
    }

    /// Whether both are the same userdata.
    public static func == (a: LuaUserdata, b: LuaUserdata) -> Bool {
        a.reference.isSame(as: b.reference)
    }
    /// Identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(reference.address) }
}

extension LuaState {
    func object<Object: AnyObject>(
        at index: Int32, of type: LuaClass<Object>, on L: OpaquePointer
    ) -> Object? {
        var cls: OpaquePointer?
        guard let pointer = shim_to_box(L, index, &cls), cls == classes[ObjectIdentifier(type)]
        else { return nil }
        // because a box of this class is only ever made with an Object
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
