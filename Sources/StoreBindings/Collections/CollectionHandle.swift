import LuaHost
import ObjectStore

/// The common part of the handles for lists, sets and maps.
protocol CollectionHandle: ObservedHandle {
    associatedtype Collection: LiveCollection
    /// The collection.
    var collection: Collection { get }
    /// The objects as results, once they were needed.
    var kept: ResultsHandle? { get set }
    static var type: LuaClass<Self> { get }
}

extension CollectionHandle {
    var isValid: Bool { collection.isValid }
    var observed: Collection { collection }
    var luaClass: LuaClass<Self> { Self.type }
    var stored: ReferencedValue? { .collection(collection) }

    /// Returns the objects as results.
    ///
    /// Throws `type_mismatch` for a collection of plain values.
    func results() throws -> ResultsHandle {
        if let kept { return kept }
        let created = ResultsHandle(try Results(collection), handle, frozen, origin: collection)
        kept = created
        return created
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

    func count() throws -> Int { try collection.count() }
    var title: String { invalidTitle }
    var invalidTitle: String {
        "\(collection.property.collection?.name ?? "collection") \(subject)"
    }

    /// The methods `observe` and `observe_value`.
    static var observations: [LuaMethod<Self>] {
        [
            observing,
            LuaMethod("observe_value") { handle, call in
                call.answer(try ObserverBinding(handle.handle, call).observeValue(handle))
            },
        ]
    }

    static var commonMetamethods: [LuaMethod<Self>] {
        counting + [LuaMethod.equality(of: type) { $0.collection.isSame(as: $1.collection) }]
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
            if let elements = try bridge.elements(of: userdata) { return elements }
            if let entries = try bridge.entries(of: userdata) { return Array(entries.values) }
        default: break
        }
        throw typeError(index, Self.collections)
    }
}

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
                var created: [LuaValue] = []
                try rows.forEachRow { row in
                    guard let value = try convert(row, function) else { return }
                    // A nil would end the array.
                    created.append(value.isNil ? rows.handle.null : value)
                    try call.state.checkMemory()
                }
                return call.answer(.table(call.state.makeTable(created)))
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
            try call.answer(call.state.call(call.state.runtime["ipairs"], [call[1]]))
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
            LuaMethod("values") { receiver, call in
                let paths = try QueryArguments.paths(call, from: 2)
                return call.answer(rows: try ResultRowSource(try results(receiver), paths))
            },
        ]
    }

    static func aggregating<Receiver>(
        _ results: @escaping @Sendable (Receiver) throws -> ResultsHandle
    ) -> [LuaMethod<Receiver>] {
        AggregateKind.ofValues.map { kind in
            LuaMethod(kind.rawValue) { receiver, call in
                let results = try results(receiver)
                let value = try results.results.aggregate(kind, call.text(2))
                return call.answer(results.bridge.lua(value))
            }
        } + [
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

/// A list whose elements have positions: of a property, or inside a mixed value.
protocol EditableList {
    func set(_ value: Value, at index: Int) throws
    func append(_ values: [Value]) throws
    func insert(_ value: Value, at index: Int) throws
    func remove(at index: Int) throws
    func move(from: Int, to destination: Int) throws
    func swap(_ first: Int, _ second: Int) throws
    func firstIndex(of value: Value) throws -> Int?
}

extension LiveList: EditableList {}
extension NestedCollection: EditableList {}

/// A handle of a list, which scripts change by index.
protocol PositionsHandle: LiveHandle {
    associatedtype Elements: EditableList
    var elements: Elements { get }
    /// Converts an element from a script.
    func value(_ value: LuaValue) throws -> Value
    /// Converts a value to search for.
    func valueToFind(_ value: LuaValue) throws -> Value
}

extension PositionsHandle {
    /// Replaces an element; an index after the last one is out of range.
    func set(_ field: borrowing LuaField, at index: Int64) throws {
        try elements.set(try value(field.luaValue), at: ScriptIndex.position(index))
    }

    /// The methods that take or return positions.
    static var positions: [LuaMethod<Self>] {
        func changing(
            _ name: String, _ change: @escaping @Sendable (Self, borrowing LuaCall) throws -> Void
        ) -> LuaMethod<Self> {
            LuaMethod(name) { list, call in
                try change(list, call)
                return .none
            }
        }
        return [
            changing("append") { list, call in
                try list.elements.append(try call.rest(from: 2).map { try list.value($0) })
            },
            changing("insert") { list, call in
                let position = ScriptIndex.position(try call.integer(2))
                try list.elements.insert(try list.value(call[3]), at: position)
            },
            changing("remove") {
                try $0.elements.remove(at: ScriptIndex.position($1.integer(2)))
            },
            changing("move") {
                try $0.elements.move(
                    from: ScriptIndex.position($1.integer(2)),
                    to: ScriptIndex.position($1.integer(3)))
            },
            changing("swap") {
                try $0.elements.swap(
                    ScriptIndex.position($1.integer(2)), ScriptIndex.position($1.integer(3)))
            },
            LuaMethod("index_of") { list, call in
                let position = try list.elements.firstIndex(of: list.valueToFind(call[2]))
                return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
            },
            LuaMethod("contains") { list, call in
                let position = try list.elements.firstIndex(of: list.valueToFind(call[2]))
                return call.answer(.boolean(position != nil))
            },
        ]
    }
}

/// Converts the indexes of scripts, which start at 1.
enum ScriptIndex {
    /// Returns the index counted from 0.
    ///
    /// An extreme index stays out of range and does not overflow.
    static func position(_ index: Int64) -> Int { Int(max(index, .min + 1)) - 1 }
}
