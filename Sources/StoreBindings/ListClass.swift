import LuaHost
import ObjectStore

/// A list of an object in the hands of a script.
final class ListHandle {
    let list: LiveList
    let handle: StoreHandle
    let frozen: FrozenSpace?
    private var kept: ResultsHandle?

    init(_ list: LiveList, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.list = list
        self.handle = handle
        self.frozen = frozen
    }

    /// The list's objects as results.
    ///
    /// Throws `type_mismatch` for a list of plain values.
    func results() throws -> ResultsHandle {
        if let kept { return kept }
        let made = ResultsHandle(try Results(list), handle, frozen, list: list)
        kept = made
        return made
    }

    fileprivate func lua(_ value: Value) -> LuaValue { ValueBridge(handle, frozen).lua(value) }

    fileprivate func value(_ value: LuaValue) throws -> Value {
        let bridge = ValueBridge(handle, frozen)
        if list.property.type == .mixed { return try bridge.mixed(value) }
        if case .table(let table) = value, list.property.type == .object,
            let target = list.source.view.schema.target(of: list.property)
        {
            return try bridge.values(table, of: target)
        }
        return try bridge.value(value, for: list.property, of: list.classSchema)
    }

    static let type: LuaClass<ListHandle> = LuaClass(
        name: "list", summary: "A list of an object, changed in place.",
        methods: changing + reading + CollectionMethods.querying { try $0.results() },
        metamethods: [
            LuaMethod("__len") { list, call in call.answer(.integer(Int64(try list.list.count())))
            },
            LuaMethod("__tostring") { list, call in
                let place = "\(list.list.classSchema.name).\(list.list.property.name)"
                guard list.list.isValid else {
                    return call.answer(.text("list \(place) (invalid)"))
                }
                return call.answer(.text("list \(place) (\(try list.list.count()))"))
            },
            LuaMethod("__pairs") { _, call in
                try call.answer(call.state.call(call.state.globals["ipairs"], [call[1]]))
            },
            LuaMethod(
                "__eq",
                anyReceiver: { call in
                    guard let left = call.optionalObject(1, type)?.list,
                        let right = call.optionalObject(2, type)?.list
                    else { return call.answer(false) }
                    return call.answer(
                        .boolean(
                            left.owner == right.owner && left.property == right.property
                                && left.classSchema.table == right.classSchema.table
                                && left.source.isSame(as: right.source)))
                }),
        ],
        index: { list, index, result in
            if list.list.property.type == .mixed {
                let item = try NestedCollection.item(at: .element(list.list, position(index)))
                return result.set(ValueBridge(list.handle, list.frozen).lua(item))
            }
            guard index >= 1, let value = try list.list.element(at: position(index)) else {
                return result.setNil()
            }
            result.set(list.lua(value))
        },
        setIndex: { list, index, field in
            let value = try list.value(field.luaValue)
            try list.list.set(value, at: position(index))
        })

    /// A position from an index that a script counts from 1.
    ///
    /// Absurd ones stay out of range without overflowing.
    fileprivate static func position(_ index: Int64) -> Int {
        Int(max(min(index, 1 << 52), -1 << 52)) - 1
    }

    private static let changing: [LuaMethod<ListHandle>] = [
        LuaMethod("append", "(value, …)", "Adds values at the end.") { list, call in
            try list.list.append(try call.rest(from: 2).map { try list.value($0) })
            return .none
        },
        LuaMethod("insert", "(index, value)", "Inserts a value so that it stands at the index.") {
            list, call in
            let position = position(try call.integer(2))
            try list.list.insert(try list.value(call[3]), at: position)
            return .none
        },
        LuaMethod("remove", "(index)", "Removes the element at the index.") { list, call in
            try list.list.remove(at: position(try call.integer(2)))
            return .none
        },
        LuaMethod("move", "(from, to)", "Moves an element to another index.") { list, call in
            try list.list.move(
                from: position(try call.integer(2)), to: position(try call.integer(3)))
            return .none
        },
        LuaMethod("swap", "(i, j)", "Exchanges two elements.") { list, call in
            try list.list.swap(position(try call.integer(2)), position(try call.integer(3)))
            return .none
        },
        LuaMethod("clear", "()", "Removes all elements.") { list, _ in
            try list.list.removeAll()
            return .none
        },
    ]

    private static let reading: [LuaMethod<ListHandle>] = [
        LuaMethod("index_of", "(value) → integer", "The first index of a value, or nil.") {
            list, call in
            let position = try list.position(of: call[2])
            return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
        },
        LuaMethod("contains", "(value) → boolean", "Whether a value is in the list.") {
            list, call in
            call.answer(.boolean(try list.position(of: call[2]) != nil))
        },
        LuaMethod("is_valid", "() → boolean", "Whether the list's object still exists.") {
            list, call in call.answer(.boolean(list.list.isValid))
        },
        LuaMethod("is_frozen", "() → boolean", "Whether it shows one version for ever.") {
            list, call in call.answer(.boolean(list.frozen != nil))
        },
        LuaMethod("to_table", "() → array", "A plain array of the elements.") { list, call in
            call.answer(.table(call.state.makeTable(try list.list.values().map(list.lua))))
        },
        LuaMethod("freeze", "() → list", "The list as it is now, for ever.") { list, call in
            if list.frozen != nil { return call.answerArgument(1) }
            guard list.list.isValid else { _ = try list.list.count(); return .none }
            let space = FrozenSpace(list.handle, try list.handle.store.frozenView())
            let owner = ObjectSource.frozen(space.view).object(
                list.list.classSchema, list.list.owner)
            let frozen = ListHandle(try owner.list(list.list.property.name), list.handle, space)
            return call.answer(frozen, ListHandle.type)
        },
    ]

    private func position(of value: LuaValue) throws -> Int? {
        let wanted = try ValueBridge(handle, frozen).plain(value, "the value to look for")
        do {
            return try list.firstIndex(of: wanted)
        } catch let error as StoreError where error.code == .typeMismatch {
            return nil  // a value of another type is merely not in the list
        }
    }
}
