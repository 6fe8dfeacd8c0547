import LuaHost
import ObjectStore

/// A value of a store that a script holds: an object, results, or a collection.
///
/// This is the only place that lists the kinds of handles. Functions for values of several kinds switch over ``value``.
struct HeldValue {
    let value: ReferencedValue
    let handle: StoreHandle
    /// The version of the value; nil for the live store.
    let frozen: FrozenSpace?

    var bridge: ValueBridge { ValueBridge(handle, frozen) }

    /// The objects of results or of a collection of objects; nil for an object.
    ///
    /// Throws `type_mismatch` for a collection of plain values.
    func results() throws -> Results? {
        switch value {
        case .results(let results): results
        case .list(let list): try Results(list)
        case .set(let set): try Results(set)
        case .map(let map): try Results(map)
        case .object, .store, .nested, .values: nil
        }
    }

    /// The elements of results, a list, a set or plain values; nil for an object and for a map.
    func elements() throws -> [Value]? {
        switch value {
        case .results(let results):
            return try ResultsHandle(results, handle, frozen).references().map(Value.object)
        case .list(let list): return try list.values()
        case .set(let set): return try set.values()
        case .values(let values): return try values.values()
        case .nested(let nested):
            guard case .list(let elements) = try nested.value() else { return nil }
            return elements
        case .object, .store, .map: return nil
        }
    }
}

extension LuaUserdata {
    /// The object, results or collection in the userdata; nil for others.
    var held: HeldValue? {
        if let (type, object) = liveObject?.stored {
            return HeldValue(value: .object(object), handle: type.handle, frozen: type.frozen)
        }
        guard let live = swiftObject as? any LiveHandle, let value = live.stored else { return nil }
        return HeldValue(value: value, handle: live.handle, frozen: live.frozen)
    }
}

extension StoreHandle {
    /// Returns a value of this store for scripts.
    func userdata(_ value: ReferencedValue, at space: FrozenSpace?) -> LuaValue {
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
}
