import LuaHost
import ObjectStore

/// A list or map inside a mixed value, for scripts.
final class NestedHandle: PositionsHandle, KeysHandle, ObservedHandle {
    let nested: NestedCollection
    let handle: StoreHandle
    let frozen: FrozenSpace?

    init(_ nested: NestedCollection, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.nested = nested
        self.handle = handle
        self.frozen = frozen
    }

    /// The Lua class: a list or a map.
    var luaClass: LuaClass<NestedHandle> { nested.kind == .list ? Self.list : Self.map }

    var isValid: Bool { nested.isValid }
    var stored: ReferencedValue? { .nested(nested) }
    var observed: NestedCollection { nested }

    private var kind: String { nested.kind == .list ? "list" : "map" }

    var subject: String {
        let (owner, property, _) = nested.root
        return "a \(kind) in \(owner.classSchema.name).\(property.name)"
    }

    func count() throws -> Int { try nested.count() }
    var title: String { "\(kind) in a mixed value" }
    var invalidTitle: String { title }

    func after(_ change: CollectionChange) -> NestedHandle {
        NestedHandle(nested.after(change), handle, frozen)
    }

    fileprivate func values() -> ValuesHandle {
        ValuesHandle(CollectionValues(nested), handle, frozen)
    }

    // MARK: - Lists

    static let list: LuaClass<NestedHandle> = LuaClass(
        name: "mixed list",
        methods: positions + ValueMethods.querying { $0.values() } + shared,
        metamethods: sharedMetamethods + [
            LuaMethod("__pairs") { list, call in
                try call.answer(elements: list.items().map(list.bridge.lua))
            }
        ],
        index: { list, index, result in
            list.bridge.pass(
                index >= 1 ? try list.nested.item(at: ScriptIndex.position(index)) : nil,
                to: result)
        },
        setIndex: { try $0.set($2, at: $1) })

    private func items() throws -> [NestedCollection.Item] {
        let items = try nested.items()
        return items.map(\.item)
    }

    var elements: NestedCollection { nested }
    func value(_ value: LuaValue) throws -> Value { try bridge.mixed(value) }
    func valueToFind(_ value: LuaValue) throws -> Value { try bridge.mixed(value) }

    // MARK: - Maps

    static let map: LuaClass<NestedHandle> = mapClass(
        "mixed map", methods: ValueMethods.summarizing { $0.values() } + shared,
        metamethods: sharedMetamethods)

    var map: NestedCollection { nested }

    // MARK: - Both

    private static let shared: [LuaMethod<NestedHandle>] =
        [
            LuaMethod("clear") { nested, _ in
                try nested.nested.removeAll()
                return .none
            },
            LuaMethod("to_table") { nested, call in
                call.answer(nested.bridge.lua(try nested.nested.value()))
            },
            observing,
        ] + versions

    private static let sharedMetamethods: [LuaMethod<NestedHandle>] =
        counting + [
            LuaMethod(
                "__eq",
                anyReceiver: { call in
                    guard let left = call.nested(1), let right = call.nested(2) else {
                        return call.answer(false)
                    }
                    return call.answer(.boolean(left.nested.isSame(as: right.nested)))
                })
        ]
}

extension LuaCall {
    /// Returns the list or map inside a mixed value in an argument; nil for other arguments.
    func nested(_ index: Int) -> NestedHandle? {
        optionalObject(index, NestedHandle.list) ?? optionalObject(index, NestedHandle.map)
    }
}

extension ValueBridge {
    /// Converts an element of a list or map inside a mixed value for a script.
    ///
    /// Collections stay live.
    func lua(_ item: NestedCollection.Item) -> LuaValue {
        switch item {
        case .value(let value): return lua(value)
        case .nested(let nested): return handle.userdata(.nested(nested), at: frozen)
        }
    }

    /// Passes an element of a list or map inside a mixed value to a script; nil if there is none.
    func pass(_ item: NestedCollection.Item?, to result: borrowing LuaResult) {
        switch item {
        case .nested(let nested): NestedHandle(nested, handle, frozen).pass(to: result)
        case .value(let value): result.set(lua(value))
        case nil: result.setNil()
        }
    }

    /// Converts a value for a mixed property: arrays become lists, tables with text keys become maps.
    func mixed(_ value: LuaValue, depth: Int = 0) throws -> Value {
        guard depth <= 100 else {
            throw StoreError(
                .invalidArgument,
                "a mixed value can nest at most 100 tables; this one nests more, or contains itself"
            )
        }
        switch value {
        case .table(let table): return try collection(table, depth)
        case .userdata(let userdata):
            if let unmanaged = userdata.object(as: UnmanagedObject.type) {
                return try linked(unmanaged, userdata)
            }
            return try plain(value, "a mixed value")
        default: return try plain(value, "a mixed value")
        }
    }

    private func collection(_ table: LuaTable, _ depth: Int) throws -> Value {
        func gap() -> StoreError {
            StoreError(
                .typeMismatch,
                "a list in a mixed value must not have gaps; use moonpool.null for nil")
        }
        return try handle.json.collection(table) { key in
            if table.keys.allSatisfy({ $0.integer != nil }) { return gap() }
            return StoreError(
                .typeMismatch,
                "a table in a mixed value is an array or has text as keys; this one has other keys, one is "
                    + (key.integer.map(String.init) ?? key.typeName))
        } _: { element in
            if element.isNil { throw gap() }
            return try mixed(element, depth: depth + 1)
        }
    }
}
