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
        if let (type, object) = userdata.liveObject?.stored {
            return (.object(object), type.handle)
        }
        if let results = userdata.object(as: ResultsHandle.type) {
            return (.results(results.results), results.handle)
        }
        if let list = userdata.object(as: ListHandle.type) {
            return (.list(list.collection), list.handle)
        }
        if let set = userdata.object(as: SetHandle.type) {
            return (.set(set.collection), set.handle)
        }
        if let map = userdata.object(as: MapHandle.type) {
            return (.map(map.collection), map.handle)
        }
        if let nested = userdata.object(as: NestedHandle.list)
            ?? userdata.object(as: NestedHandle.map)
        {
            return (.nested(nested.nested), nested.handle)
        }
        if let values = userdata.object(as: ValuesHandle.type) {
            return (.values(values.values), values.handle)
        }
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
        switch value {
        case .store:
            return space.map { state.userdata($0, FrozenSpace.type) }
                ?? state.userdata(self, StoreHandle.type)
        case .object(let object):
            return space?.userdata(object.reference) ?? userdata(object.reference)
        case .list(let list):
            return state.userdata(ListHandle(list, self, space), ListHandle.type)
        case .set(let set): return state.userdata(SetHandle(set, self, space), SetHandle.type)
        case .map(let map): return state.userdata(MapHandle(map, self, space), MapHandle.type)
        case .nested(let nested):
            let made = NestedHandle(nested, self, space)
            return state.userdata(made, made.luaClass)
        case .values(let values):
            return state.userdata(ValuesHandle(values, self, space), ValuesHandle.type)
        case .results(let results):
            return state.userdata(ResultsHandle(results, self, space), ResultsHandle.type)
        }
    }

    /// The method `store:resolve(reference)`.
    static let resolving: LuaMethod<StoreHandle> = LuaMethod("resolve") { handle, call in
        let box = try call.object(2, ReferenceBox.type)
        return call.answer(try handle.resolve(box.reference))
    }
}
