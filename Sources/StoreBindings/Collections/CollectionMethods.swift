import LuaHost
import ObjectStore

/// The methods that Results and collections of objects share.
///
/// `results` returns the results that a receiver represents.
enum CollectionMethods {
    static func querying<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        summarizing(results) + reading(results) + iterating(results) + [
            LuaMethod("update") { receiver, call in
                let results = try results(receiver)
                let classSchema = try results.results.classSchema()
                let values = try results.bridge.named(call.table(2), of: classSchema)
                try results.results.source.writableStore().requireWrite("'\(classSchema.name)'")
                for key in try results.results.keys() {
                    let object = results.results.source.object(classSchema, key)
                    if object.isValid { try results.handle.store.update(object, values) }
                }
                return call.answerArgument(1)
            }
        ]
    }

    /// Returns the methods that refine or aggregate, for maps: the other methods have different meanings in a map.
    static func summarizing<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        refining(results) { $1 } + aggregating(results)
    }

    /// Returns the method `observe` with the registration function of a kind of collection.
    static func observing<Receiver>(
        _ register: @escaping @Sendable (Receiver, borrowing LuaCall) throws -> LuaValue
    ) -> LuaMethod<Receiver> {
        LuaMethod("observe") { receiver, call in
            call.answer(try register(receiver, call))
        }
    }

    /// Returns the methods that refine; `wrap` creates the handle of the refined results.
    static func refining<Receiver, Refined: LiveHandle>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle,
        _ wrap: @escaping @Sendable (Receiver, ResultsHandle) -> Refined
    ) -> [LuaMethod<Receiver>] {
        func refining(
            _ name: String,
            _ refine: @escaping @Sendable (ResultsHandle, borrowing LuaCall) throws -> Results
        ) -> LuaMethod<Receiver> {
            LuaMethod(name) { receiver, call in
                let results = try results(receiver)
                let refined = wrap(receiver, results.refined(try refine(results, call)))
                return call.answer(refined, refined.luaClass)
            }
        }
        return [
            refining("where") { try QueryArguments($0).filtered($1) },
            refining("sorted") { try $0.results.sorted(QueryArguments.sortKeys($1)) },
            refining("distinct") { try $0.results.distinct(QueryArguments.paths($1, from: 2)) },
            refining("limit") { try $0.results.limited(to: Int(clamping: $1.integer(2))) },
            LuaMethod("group_by") { receiver, call in
                let sections = try SectionsHandle.make(try results(receiver), call)
                return call.answer(sections, SectionsHandle.type)
            },
        ]
    }

    /// Returns the methods that call a function with each row.
    static func iterating<Receiver, Rows: RowsHandle>(
        _ rows: @escaping @Sendable (Receiver) throws -> Rows
    ) -> [LuaMethod<Receiver>] {
        func collecting(
            _ name: String,
            _ convert: @escaping @Sendable (LuaValue, LuaFunction) throws -> LuaValue?
        ) -> LuaMethod<Receiver> {
            LuaMethod(name) { receiver, call in
                let rows = try rows(receiver)
                let function = try call.function(2)
                var made: [LuaValue] = []
                try rows.forEachRow { row in
                    guard let value = try convert(row, function) else { return }
                    // A nil would end the array.
                    made.append(value.isNil ? rows.handle.null : value)
                    try call.state.checkMemory()
                }
                return call.answer(.table(call.state.makeTable(made)))
            }
        }
        return [
            collecting("filter") {
                try $1.call([$0]).first?.isTruthy == true ? $0 : LuaValue?.none
            },
            collecting("map") { try $1.call([$0]).first ?? .nil },
        ]
    }

    /// Returns the metamethod `__pairs`, which iterates over indexes and rows, as `ipairs` does for a list.
    static func pairs<Receiver>() -> LuaMethod<Receiver> {
        LuaMethod("__pairs") { _, call in
            try call.answer(call.state.call(call.state.globals["ipairs"], [call[1]]))
        }
    }

    private static func reading<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        [
            LuaMethod("project") { receiver, call in
                try ProjectedResultsHandle.make(try results(receiver), call)
            },
            LuaMethod("first") { receiver, call in
                let results = try results(receiver)
                return try answer(try results.results.first(), results, call)
            },
            LuaMethod("last") { receiver, call in
                let results = try results(receiver)
                return try answer(try results.results.last(), results, call)
            },
            LuaMethod("each") { receiver, call in
                let results = try results(receiver)
                let (type, anchor) = try results.objectClass()
                let source = ResultKeySource(try results.results.keys())
                return withExtendedLifetime(anchor) { call.answer(each: type, of: source) }
            },
        ]
    }

    static func aggregating<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        func aggregate(
            _ name: String,
            _ compute: @escaping @Sendable (Results, String) throws -> Value
        ) -> LuaMethod<Receiver> {
            LuaMethod(name) { receiver, call in
                let results = try results(receiver)
                let value = try compute(results.results, call.text(2))
                return call.answer(results.bridge.lua(value))
            }
        }
        return [
            aggregate("sum") { try $0.sum($1) },
            aggregate("min") { try $0.minimum($1) },
            aggregate("max") { try $0.maximum($1) },
            aggregate("average") { try $0.average($1) },
            LuaMethod("observe_aggregate") { receiver, call in
                call.answer(try AggregateBinding(call).observe(try results(receiver)))
            },
            LuaMethod("count") { receiver, call in
                let results = try results(receiver)
                let count =
                    call.isNil(2)
                    ? try results.results.count()
                    : try results.results.count(of: call.text(2))
                return call.answer(.integer(Int64(count)))
            },
        ]
    }

    /// The methods `index_of` and `contains` of Results.
    ///
    /// Lists have their own versions, which also accept plain values.
    static let membership: [LuaMethod<ResultsHandle>] = [
        LuaMethod("index_of") { results, call in
            guard let (_, object) = call.liveObject(2)?.stored else {
                throw call.typeError(2, "object")
            }
            let position = try results.results.index(of: object)
            return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
        },
        LuaMethod("contains") { results, call in
            guard let (_, object) = call.liveObject(2)?.stored else {
                throw call.typeError(2, "object")
            }
            return call.answer(.boolean(try results.results.contains(object)))
        },
    ]

    private static func answer(
        _ object: LiveObject?, _ results: ResultsHandle, _ call: borrowing LuaCall
    ) throws -> LuaAnswer {
        guard let object else { return call.answer(.nil) }
        let (type, anchor) = try results.objectClass()
        return withExtendedLifetime(anchor) {
            call.answer(LuaLiveObject(type: type, key: object.key.rawValue))
        }
    }
}
