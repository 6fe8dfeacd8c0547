import LuaHost
import ObjectStore

/// The methods that Results and collections of objects share.
///
/// `results` returns the results that a receiver represents.
enum CollectionMethods {
    static func querying<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        summarizing(results) + reading(results) + [
            LuaMethod("update") { receiver, call in
                let results = try results(receiver)
                let classSchema = try results.results.classSchema()
                let bridge = ValueBridge(results.handle, results.frozen)
                let values = try bridge.named(call.table(2), of: classSchema)
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
        refining(results) + aggregating(results)
    }

    /// Returns the method `observe` with the registration function of a kind of collection.
    static func observing<Receiver>(
        _ register: @escaping @Sendable (Receiver, borrowing LuaCall) throws -> LuaValue
    ) -> LuaMethod<Receiver> {
        LuaMethod("observe") { receiver, call in
            call.answer(try register(receiver, call))
        }
    }

    private static func refining<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        [
            LuaMethod("where") { receiver, call in
                let results = try results(receiver)
                let found = try QueryArguments(results).filtered(call)
                return call.answer(results.refined(found), ResultsHandle.type)
            },
            LuaMethod("sorted") { receiver, call in
                let results = try results(receiver)
                let sorted = try results.results.sorted(QueryArguments.sortKeys(call))
                return call.answer(results.refined(sorted), ResultsHandle.type)
            },
            LuaMethod("distinct") { receiver, call in
                let results = try results(receiver)
                let paths = try QueryArguments.paths(call, from: 2)
                return call.answer(
                    results.refined(try results.results.distinct(paths)), ResultsHandle.type)
            },
            LuaMethod("group_by") { receiver, call in
                let sections = try SectionsHandle.make(try results(receiver), call)
                return call.answer(sections, SectionsHandle.type)
            },
            LuaMethod("limit") { receiver, call in
                let results = try results(receiver)
                let limited = try results.results.limited(to: Int(clamping: try call.integer(2)))
                return call.answer(results.refined(limited), ResultsHandle.type)
            },
        ]
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
            LuaMethod("filter") { receiver, call in
                let results = try results(receiver)
                let function = try call.function(2)
                var kept: [LuaValue] = []
                try forEach(results) { object in
                    if try function.call([object]).first?.isTruthy == true { kept.append(object) }
                    try call.state.checkMemory()
                }
                return call.answer(.table(call.state.makeTable(kept)))
            },
            LuaMethod("map") { receiver, call in
                let results = try results(receiver)
                let function = try call.function(2)
                var made: [LuaValue] = []
                try forEach(results) { object in
                    let value = try function.call([object]).first ?? .nil
                    made.append(value.isNil ? results.handle.null : value)
                    try call.state.checkMemory()
                }
                return call.answer(.table(call.state.makeTable(made)))
            },
        ]
    }

    private static func aggregating<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        func aggregate(
            _ name: String,
            _ compute: @escaping @Sendable (Results, String) throws -> Value
        ) -> LuaMethod<Receiver> {
            LuaMethod(name) { receiver, call in
                let results = try results(receiver)
                let value = try compute(results.results, call.text(2))
                return call.answer(ValueBridge(results.handle, results.frozen).lua(value))
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

    private static func forEach(
        _ results: ResultsHandle, _ body: (LuaValue) throws -> Void
    ) throws {
        let (type, anchor) = try results.objectClass()
        for key in try results.results.keys() {
            try body(results.handle.state.userdata(LuaLiveObject(type: type, key: key.rawValue)))
        }
        withExtendedLifetime(anchor) {}
    }
}
