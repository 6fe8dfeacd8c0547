import LuaHost
import ObjectStore

/// The plain values of a collection for scripts, optionally filtered, ordered or limited.
final class ValuesHandle: RowsHandle, ObservedHandle {
    let values: CollectionValues
    let handle: StoreHandle
    let frozen: FrozenSpace?

    init(_ values: CollectionValues, _ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.values = values
        self.handle = handle
        self.frozen = frozen
    }

    var isValid: Bool { values.isValid }
    var stored: ReferencedValue? { .values(values) }
    var luaClass: LuaClass<ValuesHandle> { Self.type }

    /// Returns the value at an index, converted for scripts; nil past the end.
    fileprivate func item(at position: Int) throws -> LuaValue {
        try values.item(at: position).map(bridge.lua) ?? .nil
    }

    /// Returns the values, converted for scripts: lists and maps inside mixed values are live.
    fileprivate func items() throws -> [LuaValue] {
        try values.items().map(bridge.lua)
    }

    func forEachRow(_ body: (LuaValue) throws -> Void) throws { try items().forEach(body) }

    func count() throws -> Int { try values.count() }
    var title: String { "Values of \(values.property.elementTypeName)" }
    var observed: CollectionValues { values }

    func after(_ change: CollectionChange) -> ValuesHandle {
        ValuesHandle(values.after(change), handle, nil)
    }

    static let type: LuaClass<ValuesHandle> = LuaClass(
        name: "Values",
        methods: ValueMethods.querying { $0 } + own + versions,
        metamethods: counting + [
            LuaMethod("__pairs") { values, call in
                try call.answer(elements: values.items())
            }
        ],
        index: { values, index, result in
            result.set(try values.item(at: ScriptIndex.position(index)))
        },
        setIndex: { _, _, _ in
            throw StoreError(
                .invalidArgument,
                "these values are computed from a collection and cannot be assigned; change the collection instead"
            )
        })

    var subject: String {
        "values of \(values.owner.classSchema.name).\(values.property.name)"
    }

    private static let own: [LuaMethod<ValuesHandle>] = [
        observing,
        LuaMethod("explain") { values, call in call.answer(.text(try values.values.explain())) },
        LuaMethod("to_table") { values, call in
            let all = try values.values.values()
            return call.answer(.table(try call.state.makeTable(of: all, values.bridge.copied)))
        },
    ]
}

/// The methods that collections of plain values share with Results.
///
/// `values` returns the values that a receiver represents.
enum ValueMethods {
    static func querying<Receiver>(
        _ values: @escaping @Sendable (Receiver) throws -> ValuesHandle
    ) -> [LuaMethod<Receiver>] {
        summarizing(values) + reading(values) + CollectionMethods.iterating(values)
    }

    /// Returns the methods that refine or aggregate, for maps: the other methods have different meanings in a map.
    static func summarizing<Receiver>(
        _ values: @escaping @Sendable (Receiver) throws -> ValuesHandle
    ) -> [LuaMethod<Receiver>] {
        let aggregates = AggregateKind.ofValues.map { kind in
            LuaMethod<Receiver>(kind.rawValue) { receiver, call in
                try requireNoPath(call)
                let values = try values(receiver)
                return call.answer(values.bridge.lua(try values.values.aggregate(kind)))
            }
        }
        func refining(
            _ name: String,
            _ refine:
                @escaping @Sendable (ValuesHandle, borrowing LuaCall) throws ->
                CollectionValues
        ) -> LuaMethod<Receiver> {
            LuaMethod(name) { receiver, call in
                let values = try values(receiver)
                let refined = try refine(values, call)
                return call.answer(
                    ValuesHandle(refined, values.handle, values.frozen), ValuesHandle.type)
            }
        }
        return [
            refining("where") { values, call in
                if case .table = call[2] {
                    throw call.argumentError(
                        2, "plain values have no properties to name; write where(\"SELF > $1\", 3)")
                }
                return try values.values.filtered(
                    call.text(2), QueryArguments.values(call, values.bridge))
            },
            refining("sorted") {
                try $0.values.sorted(ascending: QueryArguments.ascending($1[2], $1, 2))
            },
            refining("distinct") { values, call in
                try requireNoPath(call)
                return values.values.distinct()
            },
            refining("limit") { try $0.values.limited(to: Int(clamping: $1.integer(2))) },
        ] + aggregates + [
            LuaMethod("count") { receiver, call in
                try requireNoPath(call)
                return call.answer(.integer(Int64(try values(receiver).values.count())))
            }
        ]
    }

    private static func requireNoPath(_ call: borrowing LuaCall) throws {
        try call.requireNone(
            from: 2, "plain values have no properties to name; write \(call.name)()")
    }

    private static func reading<Receiver>(
        _ values: @escaping @Sendable (Receiver) throws -> ValuesHandle
    ) -> [LuaMethod<Receiver>] {
        [
            LuaMethod("first") { receiver, call in
                call.answer(try values(receiver).item(at: 0))
            },
            LuaMethod("last") { receiver, call in
                let values = try values(receiver)
                return call.answer(try values.item(at: try values.values.count() - 1))
            },
            LuaMethod("each") { receiver, call in
                let values = try values(receiver)
                let (all, null) = (try values.items(), values.handle.null)
                // A nil would end the loop.
                return call.answer(each: all.count) { all[$0].isNil ? null : all[$0] }
            },
        ]
    }
}

extension CollectionHandle {
    /// Returns the values of a collection without objects.
    fileprivate func values() throws -> ValuesHandle {
        ValuesHandle(try CollectionValues(collection), handle, frozen)
    }

    private var holdsValues: Bool { collection.property.type != .object }

    /// The metamethod `__pairs` of lists and sets, which also iterates over nil values.
    static var iterating: LuaMethod<Self> {
        LuaMethod("__pairs") { handle, call in
            let property = handle.collection.property
            if property.isOptional || property.type == .mixed {
                return try call.answer(elements: handle.values().items())
            }
            return try call.answer(call.state.call(call.state.runtime["ipairs"], [call[1]]))
        }
    }

    /// Returns the methods of Results that collections of plain values implement separately.
    static func querying(
        _ results: @escaping @Sendable (Self) throws -> ResultsHandle
    ) -> [LuaMethod<Self>] {
        merged(CollectionMethods.querying(results), ValueMethods.querying { try $0.values() })
    }

    /// Returns the methods of Results that maps of plain values implement separately.
    static func summarizing(
        _ results: @escaping @Sendable (Self) throws -> ResultsHandle
    ) -> [LuaMethod<Self>] {
        merged(CollectionMethods.summarizing(results), ValueMethods.summarizing { try $0.values() })
    }

    private static func merged(
        _ objects: [LuaMethod<Self>], _ values: [LuaMethod<Self>]
    ) -> [LuaMethod<Self>] {
        objects.map { method in
            guard let other = values.first(where: { $0.name == method.name }) else { return method }
            return method.replaced(by: other) { $0.holdsValues }
        }
    }
}

extension LuaCall {
    /// Answers `__pairs` for the elements at the start of the loop, with their 1-based indexes; elements can be nil.
    func answer(elements: [LuaValue]) throws -> LuaAnswer {
        try answer(pairs: elements.count) { (.integer(Int64($0 + 1)), elements[$0]) }
    }

    /// Answers `each` with the elements at indexes below a count.
    func answer(each count: Int, _ element: @escaping (Int) -> LuaValue) -> LuaAnswer {
        var next = 0
        return answer(
            .function(
                state.makeFunction("next") { call in
                    guard next < count else { return call.answer(.nil) }
                    next += 1
                    return call.answer(element(next - 1))
                }))
    }

    /// Answers `__pairs` with the pairs at indexes below a count.
    func answer(
        pairs count: Int, _ pair: @escaping (Int) -> (LuaValue, LuaValue)
    ) throws -> LuaAnswer {
        let receiver = self[1]
        var next = 0
        let step = state.makeFunction("next") { call in
            guard next < count else { return call.answer(.nil) }
            next += 1
            let (key, value) = pair(next - 1)
            return call.answer(key, value)
        }
        return try answer([.function(step), receiver, .nil])
    }
}
