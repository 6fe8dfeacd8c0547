import LuaHost
import ObjectStore

/// A thread-safe reference that a script has created itself: `moonpool.reference(x)`.
final class ReferenceBox {
    let reference: ThreadSafeReference
    init(_ reference: ThreadSafeReference) { self.reference = reference }

    var text: String { reference.isResolved ? "reference (resolved)" : "reference" }

    static let type: LuaClass<ReferenceBox> = LuaClass(
        name: "reference",
        properties: [
            LuaProperty("is_resolved") { $1.set($0.reference.isResolved) }
        ],
        metamethods: [
            LuaMethod("__tostring") { box, call in
                call.answer(.text(box.text))
            }
        ])
}

extension StoreModule {
    /// Returns the thread-safe form of a value and its store; nil for values that cannot be sent to another thread.
    func referenced(_ userdata: LuaUserdata) -> (ReferencedValue, StoreHandle)? {
        if let held = userdata.held { return (held.value, held.handle) }
        if let handle = userdata.object(as: StoreHandle.type) {
            return (.store(.store(handle.store)), handle)
        }
        if let space = userdata.object(as: FrozenSpace.type) {
            return (.store(.frozen(space.view)), space.handle)
        }
        return nil
    }

    /// Returns the script's own store for a reference's file, and opens it if necessary.
    func handle(for reference: ThreadSafeReference) throws -> StoreHandle {
        let location = reference.configuration.location
        if let known = handles.first(where: { $0.isAt(location) }) { return known }
        return try open(reference.configuration)
    }

    /// Implements `moonpool.reference(x)`.
    func makeReference(_ call: borrowing LuaCall) throws -> LuaAnswer {
        guard let userdata = call[1].userdata, let (value, handle) = referenced(userdata) else {
            if call.optionalObject(1, UnmanagedObject.type) != nil {
                throw call.argumentError(
                    1,
                    "an unmanaged object cannot be referenced; add it to a store with store:add first"
                )
            }
            throw call.typeError(1, "object, Results, collection or store")
        }
        return call.answer(
            ReferenceBox(try handle.store.reference(to: value, for: holder)), ReferenceBox.type)
    }
}

extension StoreHandle {
    /// Resolves a reference in this store; returns nil if the object was deleted.
    func resolve(_ reference: ThreadSafeReference) throws -> LuaValue {
        let holder = try module.holder
        guard let value = try store.resolve(reference, for: holder) else { return .nil }
        var space: FrozenSpace?
        if case .frozen(let view) = value.source { space = frozenSpace(of: view) }
        return userdata(value, at: space)
    }

    /// The method `store:resolve(reference)`.
    static let resolving: LuaMethod<StoreHandle> = LuaMethod("resolve") { handle, call in
        let box = try call.object(2, ReferenceBox.type)
        return call.answer(try handle.resolve(box.reference))
    }
}
