import LuaHost
import ObjectStore

/// A map of values by text: of a property, or inside a mixed value.
protocol EditableMap {
    /// Returns the value of a key; nil if the map does not have the key.
    ///
    /// Collections inside a mixed value are live.
    func item(forKey key: String) throws -> NestedCollection.Item?
    /// Returns all keys with their values, in byte order of the keys.
    func items() throws -> [(key: String?, item: NestedCollection.Item)]
    func keys() throws -> [String]
    func set(_ value: Value, forKey key: String) throws
    func removeValue(forKey key: String) throws -> Bool
}

extension NestedCollection: EditableMap {}
extension LiveMap: EditableMap {
    func item(forKey key: String) throws -> NestedCollection.Item? {
        if property.type == .mixed { return try NestedCollection.item(at: .entry(self, key)) }
        return try value(forKey: key).map(NestedCollection.Item.value)
    }

    func items() throws -> [(key: String?, item: NestedCollection.Item)] {
        try entries().map { key, value in
            switch value {
            case .list, .dictionary: (key, try NestedCollection.item(at: .entry(self, key)))
            default: (key, .value(value))
            }
        }
    }
}

/// A handle of a map: `m[key]`, `m[key] = value`.
///
/// A key with the name of a method returns the method; use `get` and `set` for such keys.
protocol KeysHandle: LiveHandle {
    associatedtype Map: EditableMap
    var map: Map { get }
    /// Converts a value from a script.
    func value(_ value: LuaValue) throws -> Value
}

extension KeysHandle {
    /// Creates the Lua class of a kind of maps.
    static func mapClass(
        _ name: String, methods: [LuaMethod<Self>], metamethods: [LuaMethod<Self>]
    ) -> LuaClass<Self> {
        let methods = keys + methods
        let methodNames = Set(methods.map(\.name))
        return LuaClass(
            name: name, methods: methods, metamethods: metamethods + [pairs],
            index: { _, index, _ in _ = try key(.integer(index)) },
            setIndex: { _, index, _ in _ = try key(.integer(index)) },
            other: { map, name, result in
                map.bridge.pass(try map.map.item(forKey: key(name)), to: result)
                return true
            },
            setOther: { map, name, field in
                let key = try key(name)
                guard !methodNames.contains(key) else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(key)' is a method of maps; as a key it is set with m:set(\"\(key)\", value)"
                    )
                }
                try map.set(field.luaValue, for: key)
                return true
            })
    }

    /// Converts a key from a script.
    private static func key(_ value: LuaValue) throws -> String {
        if let text = value.text { return text }
        if case .string = value {
            throw StoreError(
                .invalidArgument, "expected UTF-8 text as the key of a map, got other bytes")
        }
        throw StoreError(
            .typeMismatch, "expected a string as the key of a map, got a \(value.typeName)")
    }

    private func set(_ value: LuaValue, for key: String) throws {
        if value.isNil {
            _ = try map.removeValue(forKey: key)
        } else {
            try map.set(self.value(value), forKey: key)
        }
    }

    private static var keys: [LuaMethod<Self>] {
        [
            LuaMethod("get") { map, call in
                let item = try map.map.item(forKey: key(call[2]))
                return call.answer(item.map { map.bridge.lua($0) } ?? .nil)
            },
            LuaMethod("set") { map, call in
                try map.set(call[3], for: key(call[2]))
                return .none
            },
            LuaMethod("remove") { map, call in
                call.answer(.boolean(try map.map.removeValue(forKey: key(call[2]))))
            },
            LuaMethod("keys") { map, call in
                let keys = try map.map.keys()
                return call.answer(.table(try call.state.makeTable(of: keys, LuaValue.text)))
            },
            LuaMethod("values") { map, call in
                let values = try call.state.makeTable(of: map.map.items()) { _, item in
                    let value = map.bridge.lua(item)
                    return value.isNil ? map.handle.null : value
                }
                return call.answer(.table(values))
            },
        ]
    }

    private static var pairs: LuaMethod<Self> {
        LuaMethod("__pairs") { map, call in
            // The loop uses the entries at its start, so that it can change the map.
            let items = try map.map.items()
            return try call.answer(pairs: items.count) {
                (.text(items[$0].key ?? ""), map.bridge.lua(items[$0].item))
            }
        }
    }
}

/// A map of an object, for scripts.
final class MapHandle: CollectionHandle, KeysHandle {
    let collection: LiveMap
    let handle: StoreHandle
    let frozen: FrozenSpace?
    var kept: ResultsHandle?
    var map: LiveMap { collection }

    init(_ map: LiveMap, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        collection = map
        self.handle = handle
        self.frozen = frozen
    }

    static let type: LuaClass<MapHandle> = mapClass(
        "map",
        methods: [
            LuaMethod("clear") { map, _ in
                try map.collection.removeAll()
                return .none
            },
            LuaMethod("to_table") { map, call in
                let entries = try map.collection.entries()
                let table = map.handle.json.makeMap(ofCount: entries.count)
                for entry in entries {
                    try call.state.checkMemory()
                    table[entry.key] = map.copied(entry.value)
                }
                return call.answer(.table(table))
            },
        ] + versions + summarizing { try $0.results() } + observations,
        metamethods: commonMetamethods)
}
