import LuaHost
import ObjectStore

/// A set of an object, for scripts.
final class SetHandle: CollectionHandle {
    let collection: LiveSet
    let handle: StoreHandle
    let frozen: FrozenSpace?
    var kept: ResultsHandle?

    init(_ set: LiveSet, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        collection = set
        self.handle = handle
        self.frozen = frozen
    }

    static let type: LuaClass<SetHandle> = LuaClass(
        name: "set",
        methods: changing + reading + algebra + versions
            + querying { try $0.results() } + observations,
        metamethods: commonMetamethods + [
            iterating
        ],
        index: { set, index, result in
            guard index >= 1,
                let value = try set.collection.element(at: Int(clamping: index) - 1)
            else { return result.setNil() }
            result.set(set.lua(value))
        },
        setIndex: { _, _, _ in
            throw StoreError(
                .invalidArgument,
                "elements of a set cannot be assigned by index, because the set orders them; use s:add(value)"
            )
        })

    private static let changing: [LuaMethod<SetHandle>] = [
        LuaMethod("add") { set, call in
            _ = try set.collection.source.writableStore()
            let values = try call.rest(from: 2).map { try set.value($0) }
            return call.answer(.boolean(try set.collection.formUnion(values)))
        },
        LuaMethod("remove") { set, call in
            var wasThere = false
            for value in try call.rest(from: 2).map({ try set.valueToFind($0) }) {
                wasThere = try set.collection.remove(value) || wasThere
            }
            return call.answer(.boolean(wasThere))
        },
        LuaMethod("clear") { set, _ in
            try set.collection.removeAll()
            return .none
        },
        LuaMethod("form_union") { set, call in
            try set.collection.formUnion(call.values(2, for: set))
            return .none
        },
        LuaMethod("form_intersection") { set, call in
            try set.collection.formIntersection(call.values(2, for: set))
            return .none
        },
        LuaMethod("form_difference") { set, call in
            try set.collection.subtract(call.values(2, for: set))
            return .none
        },
        LuaMethod("form_symmetric_difference") { set, call in
            try set.collection.formSymmetricDifference(call.values(2, for: set))
            return .none
        },
    ]

    private static let reading: [LuaMethod<SetHandle>] = [
        LuaMethod("contains") { set, call in
            call.answer(.boolean(try set.collection.contains(set.valueToFind(call[2]))))
        },
        LuaMethod("index_of") { set, call in
            let position = try set.collection.firstIndex(of: set.valueToFind(call[2]))
            return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
        },
        LuaMethod("to_table") { set, call in
            try set.array(set.collection.values(), call)
        },
    ]

    private static let algebra: [LuaMethod<SetHandle>] = [
        LuaMethod("union") { set, call in
            try set.array(set.collection.union(call.values(2, for: set)), call)
        },
        LuaMethod("intersection") { set, call in
            try set.array(set.collection.intersection(call.values(2, for: set)), call)
        },
        LuaMethod("difference") { set, call in
            try set.array(set.collection.subtracting(call.values(2, for: set)), call)
        },
        LuaMethod("symmetric_difference") { set, call in
            try set.array(set.collection.symmetricDifference(call.values(2, for: set)), call)
        },
        LuaMethod("is_subset_of") { set, call in
            call.answer(.boolean(try set.collection.isSubset(of: call.values(2, for: set))))
        },
        LuaMethod("is_superset_of") { set, call in
            call.answer(.boolean(try set.collection.isSuperset(of: call.values(2, for: set))))
        },
        LuaMethod("intersects") { set, call in
            call.answer(.boolean(try set.collection.intersects(call.values(2, for: set))))
        },
    ]

    private func array(_ values: [Value], _ call: borrowing LuaCall) throws -> LuaAnswer {
        call.answer(.table(try call.state.makeTable(of: values, copied)))
    }
}
