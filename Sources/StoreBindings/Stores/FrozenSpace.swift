import LuaHost
import ObjectStore

/// A version of a store in Lua.
///
/// A class of the version is created with its first object and released with its last one.
final class FrozenSpace {
    let handle: StoreHandle
    let view: StoreView
    private var classes: [TableID: WeakClass] = [:]

    private final class WeakClass {
        weak var type: ObjectClass?
        init(_ type: ObjectClass) { self.type = type }
    }

    init(_ handle: StoreHandle, _ view: StoreView) {
        self.handle = handle
        self.view = view
    }

    /// Returns the class at this version, and the anchor that keeps it alive until Lua holds one of its objects.
    func objectClass(_ classSchema: ClassSchema) -> (ObjectClass, LuaFrozenAnchor?) {
        let state = handle.state
        if let known = classes[classSchema.table]?.type, let anchor = state.anchor(of: known) {
            return (known, anchor)
        }
        let made = ObjectClass(handle, .frozen(view), classSchema, frozen: self)
        let sibling = classes.values.lazy.compactMap(\.type).first { state.anchor(of: $0) != nil }
        let anchor = handle.withLiveClass(classSchema) {
            state.registerFrozen(made, like: $0, sharing: sibling)
        }
        state.setProperties(PropertySlot.names(of: classSchema), of: made)
        classes[classSchema.table] = WeakClass(made)
        return (made, anchor)
    }

    /// Returns the object in this version, or throws an error with the reason why the version does not contain it.
    func userdata(of object: LiveObject) throws -> LuaValue {
        userdata(try handle.store.freeze(object).reference)
    }

    func userdata(_ reference: ObjectReference) -> LuaValue {
        guard let classSchema = view.schema.find(table: reference.table) else { return .nil }
        let (type, anchor) = objectClass(classSchema)
        return withExtendedLifetime(anchor) {
            handle.state.userdata(LuaLiveObject(type: type, key: reference.key.rawValue))
        }
    }
}
