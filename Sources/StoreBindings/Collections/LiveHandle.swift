import LuaHost
import ObjectStore

/// A handle of live content: a collection, results, values, sections or a projection.
///
/// Every kind of content is validated, frozen and thawed by the same methods.
protocol LiveHandle: AnyObject, SendableMetatype {
    var handle: StoreHandle { get }
    /// The version of the handle; nil for the live store.
    var frozen: FrozenSpace? { get }
    /// Whether the content can be read.
    var isValid: Bool { get }
    var luaClass: LuaClass<Self> { get }
    /// The content as a value of the store; nil for content that other threads cannot receive.
    var stored: ReferencedValue? { get }
    /// Returns the same content in a version, or in the live store if the space is nil; nil if it does not exist there.
    func moved(to space: FrozenSpace?) throws -> LuaValue?
}

extension LiveHandle {
    var bridge: ValueBridge { ValueBridge(handle, frozen) }
    var stored: ReferencedValue? { nil }

    /// Passes the handle to a script.
    func pass(to result: borrowing LuaResult) { result.set(self, luaClass) }

    /// Returns the function of a method; nil if the content does not have it.
    func method(_ name: String) -> LuaFunction? { handle.state.function(name, of: luaClass) }

    /// The methods `is_valid`, `is_frozen`, `freeze` and `thaw`.
    static var versions: [LuaMethod<Self>] {
        [
            LuaMethod("is_valid") { content, call in call.answer(.boolean(content.isValid)) },
            LuaMethod("is_frozen") { content, call in
                call.answer(.boolean(content.frozen != nil))
            },
            LuaMethod("freeze") { content, call in
                if content.frozen != nil { return call.answerArgument(1) }
                return call.answer(try content.moved(to: content.handle.frozenSpace()) ?? .nil)
            },
            LuaMethod("thaw") { content, call in
                if content.frozen == nil, content.isValid { return call.answerArgument(1) }
                try content.handle.store.check()
                return call.answer(try content.moved(to: nil) ?? .nil)
            },
        ]
    }

    func moved(to space: FrozenSpace?) throws -> LuaValue? {
        guard let stored else { return nil }
        let store = handle.store
        let moved = try space == nil ? store.thaw(stored) : store.freeze(stored)
        return moved.map { handle.userdata($0, at: space) }
    }
}

/// A handle of content with a length: the metamethods `__len` and `__tostring`.
protocol CountedHandle: LiveHandle {
    /// Returns the number of elements, rows or sections.
    func count() throws -> Int
    /// The description without the number.
    var title: String { get throws }
    /// The description of content that cannot be read.
    var invalidTitle: String { get }
}

extension CountedHandle {
    var invalidTitle: String { luaClass.name }

    static var counting: [LuaMethod<Self>] {
        [
            LuaMethod("__len") { content, call in
                call.answer(.integer(Int64(try content.count())))
            },
            LuaMethod("__tostring") { content, call in
                guard content.isValid else {
                    return call.answer(.text("\(content.invalidTitle) (invalid)"))
                }
                return call.answer(.text("\(try content.title) (\(try content.count()))"))
            },
        ]
    }
}

/// A handle of rows whose changes scripts observe.
protocol ObservedHandle: CountedHandle {
    associatedtype Rows: ObservableRows
    /// The rows; throws for those of a frozen version.
    var observed: Rows { get throws }
    /// The description of the rows in lists of observers.
    var subject: String { get }
    /// Returns the handle that the observer receives with a change, which may have moved the rows.
    func after(_ change: CollectionChange) -> Self
}

extension ObservedHandle {
    func after(_ change: CollectionChange) -> Self { self }

    /// The method `observe`.
    static var observing: LuaMethod<Self> {
        LuaMethod("observe") { rows, call in
            call.answer(try ObserverBinding(rows.handle, call).observe(rows))
        }
    }
}

/// A handle of rows: objects, projections or values.
protocol RowsHandle: CountedHandle {
    /// Calls a function with the rows at the start of the loop.
    func forEachRow(_ body: (LuaValue) throws -> Void) throws
}

extension StoreHandle {
    /// The source of a version, or the live store if the space is nil.
    func source(at space: FrozenSpace?) -> ObjectSource {
        space.map { .frozen($0.view) } ?? .store(store)
    }
}

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
        case .collection(let collection): try Results(collection)
        case .object, .store, .nested, .values: nil
        }
    }

    /// The elements of results, a list, a set or plain values; nil for an object and for a map.
    func elements() throws -> [Value]? {
        switch value {
        case .results(let results):
            return try ResultsHandle(results, handle, frozen).references().map(Value.object)
        case .collection(let map) where map.property.isMap: return nil
        case .collection(let collection): return try collection.values()
        case .values(let values): return try values.values()
        case .nested(let nested):
            guard case .list(let elements) = try nested.value() else { return nil }
            return elements
        case .object, .store: return nil
        }
    }

    /// The entries of a map; nil for other values.
    func entries() throws -> ValueMap? {
        switch value {
        case .collection(let map as LiveMap): return ValueMap(try map.entries())
        case .nested(let nested):
            guard case .dictionary(let entries) = try nested.value() else { return nil }
            return entries
        default: return nil
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
        case .collection(let list as LiveList):
            return state.userdata(ListHandle(list, self, space), ListHandle.type)
        case .collection(let set as LiveSet):
            return state.userdata(SetHandle(set, self, space), SetHandle.type)
        case .collection(let map as LiveMap):
            return state.userdata(MapHandle(map, self, space), MapHandle.type)
        case .collection: return .nil
        case .nested(let nested):
            let created = NestedHandle(nested, self, space)
            return state.userdata(created, created.luaClass)
        case .values(let values):
            return state.userdata(ValuesHandle(values, self, space), ValuesHandle.type)
        case .results(let results):
            return state.userdata(ResultsHandle(results, self, space), ResultsHandle.type)
        }
    }
}
