import LuaHost
import ObjectStore

/// The common part of the handles for lists, sets and maps.
protocol CollectionHandle: LiveHandle {
    associatedtype Collection: LiveCollection
    /// The collection.
    var collection: Collection { get }
    /// The objects as results, once they were needed.
    var kept: ResultsHandle? { get set }
    static var type: LuaClass<Self> { get }
}

extension CollectionHandle {
    var isValid: Bool { collection.isValid }
    var luaClass: LuaClass<Self> { Self.type }

    /// Returns the objects as results.
    ///
    /// Throws `type_mismatch` for a collection of plain values.
    func results() throws -> ResultsHandle {
        if let kept { return kept }
        let made = ResultsHandle(try Results(collection), handle, frozen, origin: collection)
        kept = made
        return made
    }

    func lua(_ value: Value) -> LuaValue { bridge.lua(value) }

    /// Converts an element of a copy of the collection.
    func copied(_ value: Value) -> LuaValue { bridge.copied(value) }

    /// Converts an element from a script.
    func value(_ value: LuaValue) throws -> Value {
        try bridge.element(value, of: collection.property, of: collection.classSchema)
    }

    /// Converts a value to search for.
    ///
    /// The value can have any type, because a value of another type is simply not found.
    func valueToFind(_ value: LuaValue) throws -> Value {
        if case .string(let string) = value, collection.property.type == .data {
            return .data(string.bytes)
        }
        if collection.property.type == .mixed { return try bridge.mixed(value) }
        return try bridge.plain(value, "the value to look for")
    }

    /// A description of the collection for messages.
    var subject: String { "\(collection.classSchema.name).\(collection.property.name)" }

    /// The methods `observe` and `observe_value`.
    static var observing: [LuaMethod<Self>] {
        [
            CollectionMethods.observing { handle, call in
                try ObserverBinding(handle.handle, call).observe(handle)
            },
            LuaMethod("observe_value") { handle, call in
                call.answer(try ObserverBinding(handle.handle, call).observeValue(handle))
            },
        ]
    }

    private var kind: String { collection.property.collection?.name ?? "collection" }

    static var commonMetamethods: [LuaMethod<Self>] {
        [
            LuaMethod("__len") { handle, call in
                call.answer(.integer(Int64(try handle.collection.count())))
            },
            LuaMethod("__tostring") { handle, call in
                let collection = handle.collection
                let subject =
                    "\(handle.kind) \(collection.classSchema.name).\(collection.property.name)"
                guard collection.isValid else { return call.answer(.text("\(subject) (invalid)")) }
                return call.answer(.text("\(subject) (\(try collection.count()))"))
            },
            LuaMethod.equality(of: type) { $0.collection.isSame(as: $1.collection) },
        ]
    }
}

extension LuaCall {
    private static let collections = "set, list, Results or array"

    /// Returns the values of the collection or array at an index: a set, a list, a map's values, Results, or a plain
    /// array.
    func values(_ index: Int, for handle: some CollectionHandle) throws -> [Value] {
        switch self[index] {
        case .table(let table):
            guard table.isArray else {
                throw argumentError(
                    index, "expected \(Self.collections), got a table with names")
            }
            try table.requireSpace()
            return try table.array.map {
                let value = try handle.value($0)
                try handle.handle.state.checkMemory()
                return value
            }
        case .userdata(let userdata):
            let bridge = handle.bridge
            if let map = userdata.object(as: MapHandle.type) {
                return try bridge.own(try map.collection.values(), of: map.handle)
            }
            if let elements = try bridge.elements(of: userdata) { return elements }
        default: break
        }
        throw typeError(index, Self.collections)
    }
}
