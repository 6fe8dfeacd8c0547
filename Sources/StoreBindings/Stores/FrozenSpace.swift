import LuaHost
import ObjectStore

/// One version of a store as Lua sees it: its classes, made when their first object appears, gone with the last.
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

    /// The class at this version, and what keeps it alive until an object of it is in Lua's hands.
    func objectClass(_ classSchema: ClassSchema) -> (ObjectClass, LuaFrozenAnchor?) {
        let state = handle.state
        if let known = classes[classSchema.table]?.type, let anchor = state.anchor(of: known) {
            return (known, anchor)
        }
        handle.updateClasses()
        let made = ObjectClass(handle, .frozen(view), classSchema, frozen: self)
        // Where the class is gone from the live schema, any other lends its methods.
        let live =
            handle.objectClass(classSchema.table)
            ?? handle.store.view.schema.classes.lazy
            .compactMap { [handle] in handle.objectClass($0.table) }.first
            ?? handle.classWithoutObjects(classSchema)
        let sibling = classes.values.lazy.compactMap(\.type).first { state.anchor(of: $0) != nil }
        let anchor = state.registerFrozen(made, like: live, sharing: sibling)
        state.setProperties(ObjectClass.slots(of: classSchema), of: made)
        classes[classSchema.table] = WeakClass(made)
        return (made, anchor)
    }

    /// The object as it was in this version, or the error that says why it is not in it.
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
