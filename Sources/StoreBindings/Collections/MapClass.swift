import LuaHost
import ObjectStore

/// A map of an object, for scripts: `m[key]`, `m[key] = value`.
///
/// A key with the name of a method returns the method; use `get` and `set` for such keys.
final class MapHandle: CollectionHandle {
    let collection: LiveMap
    let handle: StoreHandle
    let frozen: FrozenSpace?
    var kept: ResultsHandle?

    init(_ map: LiveMap, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        collection = map
        self.handle = handle
        self.frozen = frozen
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

    /// Returns the value of a key; nil if the map does not have the key.
    ///
    /// Collections inside a mixed value stay live.
    private func value(forKey key: String) throws -> LuaValue {
        if collection.property.type == .mixed {
            return ValueBridge(handle, frozen).lua(
                try NestedCollection.item(at: .entry(collection, key)))
        }
        return try collection.value(forKey: key).map(lua) ?? .nil
    }

    private func set(_ value: LuaValue, for key: String) throws {
        if value.isNil {
            try collection.removeValue(forKey: key)
        } else {
            try collection.set(self.value(value), forKey: key)
        }
    }

    static let type: LuaClass<MapHandle> = LuaClass(
        name: "map",
        methods: own + versions + summarizing { try $0.results() } + observations,
        metamethods: commonMetamethods + [
            LuaMethod("__pairs") { map, call in
                // The loop uses the entries at its start, so that it can change the map.
                let entries = try map.collection.entries()
                return try call.answer(pairs: entries.count) {
                    (.text(entries[$0].key), map.lua(entries[$0].value))
                }
            }
        ],
        index: { _, index, _ in _ = try key(.integer(index)) },
        setIndex: { _, index, _ in _ = try key(.integer(index)) },
        other: { map, key, result in
            result.set(try map.value(forKey: MapHandle.key(key)))
            return true
        },
        setOther: { map, key, field in
            let key = try MapHandle.key(key)
            guard !methodNames.contains(key) else {
                throw StoreError(
                    .invalidArgument,
                    "'\(key)' is a method of maps; as a key it is set with m:set(\"\(key)\", value)"
                )
            }
            try map.set(field.luaValue, for: key)
            return true
        })

    private static let methodNames = Set(type.members.map(\.name))

    private static let own: [LuaMethod<MapHandle>] = [
        LuaMethod("get") { map, call in
            call.answer(try map.value(forKey: key(call[2])))
        },
        LuaMethod("set") { map, call in
            try map.set(call[3], for: key(call[2]))
            return .none
        },
        LuaMethod("remove") { map, call in
            call.answer(.boolean(try map.collection.removeValue(forKey: key(call[2]))))
        },
        LuaMethod("keys") { map, call in
            let keys = try map.collection.keys()
            return call.answer(.table(try call.state.makeTable(of: keys, LuaValue.text)))
        },
        LuaMethod("values") { map, call in
            let values = try map.collection.values()
            return call.answer(.table(try call.state.makeTable(of: values, map.copied)))
        },
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
    ]
}
