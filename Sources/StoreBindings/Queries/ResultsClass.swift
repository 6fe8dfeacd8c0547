import LuaHost
import ObjectStore

/// The results of a query, for scripts.
final class ResultsHandle: RowsHandle, ObservedHandle {
    let results: Results
    let handle: StoreHandle
    let frozen: FrozenSpace?
    /// The collection property that contains these objects; nil for queries.
    let origin: (any LiveCollection)?

    init(
        _ results: Results, _ handle: StoreHandle, _ frozen: FrozenSpace?,
        origin: (any LiveCollection)? = nil
    ) {
        self.origin = origin
        self.results = results
        self.handle = handle
        self.frozen = frozen
    }

    /// Returns the class of the objects, and the anchor that keeps it alive during use.
    func objectClass() throws -> (ObjectClass, LuaFrozenAnchor?) {
        if let known { return (known, nil) }
        if let frozen { return frozen.objectClass(try results.classSchema()) }
        let classSchema = try results.classSchema()
        guard let type = handle.objectClass(classSchema.table) else {
            throw StoreError(.unknownClass, "the class of these results was removed")
        }
        known = type
        return (type, nil)
    }

    private var known: ObjectClass?

    func references() throws -> [ObjectReference] {
        let table = results.query.table
        let keys = try results.keys()
        try handle.state.checkMemory(adding: keys.count * MemoryLayout<ObjectReference>.stride)
        return keys.array.map { ObjectReference(table: table, key: $0) }
    }

    func count() throws -> Int { try results.count() }
    var title: String { get throws { "Results of \(try results.classSchema().name)" } }

    var observed: Results {
        get throws {
            _ = try results.source.writableStore()
            return results
        }
    }

    var subject: String {
        let name = (try? results.classSchema().name) ?? "objects"
        var text =
            switch results.query.base {
            case .table: name
            case .list:
                origin.map { "\($0.classSchema.name).\($0.property.name)" }
                    ?? "a collection of \(name)"
            case .backlinks: "\(name) linking to an object"
            }
        for case .filter(let predicate) in results.query.steps {
            text += " where \(predicate.text)"
        }
        return text
    }

    var isValid: Bool { results.isValid }
    var stored: ReferencedValue? { .results(results) }
    var luaClass: LuaClass<ResultsHandle> { Self.type }

    func forEachRow(_ body: (LuaValue) throws -> Void) throws {
        let (type, anchor) = try objectClass()
        for key in try results.keys() {
            try body(handle.state.userdata(LuaLiveObject(type: type, key: key.rawValue)))
        }
        withExtendedLifetime(anchor) {}
    }

    func refined(_ results: Results) -> ResultsHandle { ResultsHandle(results, handle, frozen) }

    static let type: LuaClass<ResultsHandle> = LuaClass(
        name: "Results",
        methods: CollectionMethods.querying { $0 } + CollectionMethods.membership + own + versions
            + [observing] + TransferMethods.results,
        metamethods: counting + [
            LuaMethod.equality(of: type) { $0.results.isSame(as: $1.results) },
            CollectionMethods.pairs(),
        ],
        index: { results, index, result in
            let keys = try results.results.keys()
            guard index >= 1, index <= Int64(keys.count) else { return result.setNil() }
            let (type, anchor) = try results.objectClass()
            result.set(type, keys[Int(index) - 1].rawValue)
            withExtendedLifetime(anchor) {}
        },
        setIndex: { _, _, _ in
            throw StoreError(
                .invalidArgument,
                "results are computed and cannot be assigned; change the objects instead")
        })

    private static let own: [LuaMethod<ResultsHandle>] = [
        LuaMethod("explain") { results, call in call.answer(.text(try results.results.explain())) },
        HistogramTable.method, PlotHandle.method,
        LuaMethod("to_table") { results, call in
            let references = try results.references()
            try call.state.checkMemory(adding: references.count * MemoryLayout<Value>.stride)
            let values = references.map(Value.object)
            guard !call.isNil(2) else {
                return call.answer(
                    .table(try call.state.makeTable(of: values, results.bridge.lua)))
            }
            var copy = TableCopy(results.handle, results.frozen)
            let depth = Int(clamping: try call.integer(2))
            return call.answer(
                .table(try copy.array(values, results.results.source, max(depth, 1))))
        },
    ]
}

/// The keys of the objects in a loop, fetched in batches.
///
/// The loop uses the elements at its start.
final class ResultKeySource: LuaKeySource {
    private var iterator: ResultKeys.Iterator

    init(_ keys: ResultKeys) { iterator = keys.makeIterator() }

    override func fill(_ batch: inout MutableSpan<Int64>, from position: Int) throws -> Int {
        var count = 0
        while count < batch.count, let key = iterator.next() {
            batch[count] = key.rawValue
            count += 1
        }
        return count
    }
}

/// The values of paths of the objects in a loop, without handles of the objects.
///
/// The loop uses the objects at its start, and skips those that were deleted since.
final class ResultRowSource: LuaRowSource {
    private let results: ResultsHandle
    private let texts: [String]
    private var iterator: ResultKeys.Iterator
    /// The objects of the last rows, of which the loop has consumed those before `next`.
    private var ahead: [ObjectKey] = []
    private var next = 0
    private var classSchema: ClassSchema
    private var paths: [ProjectedPath] = []
    /// The slots of the properties that the paths consist of; -1 for a longer path.
    private var slots: [Int] = []
    /// The state of the store at the start, in which all objects exist.
    private let start: ViewStamp

    private static let maxPaths = 200

    init(_ results: ResultsHandle, _ paths: [String]) throws {
        guard 1...Self.maxPaths ~= paths.count else {
            throw StoreError(
                .invalidArgument, "expected 1 to \(Self.maxPaths) paths, got \(paths.count)")
        }
        self.results = results
        texts = paths
        classSchema = try results.results.classSchema()
        let view = try results.results.source.openView()
        iterator = try results.results.keys().makeIterator()
        start = ViewStamp(view)
        super.init(columnCount: paths.count)
        try compile(view)
    }

    private func compile(_ view: StoreView) throws {
        paths = try texts.map { try ProjectedPath($0, class: classSchema, schema: view.schema) }
        slots = paths.map { path in
            let index = path.ownProperty.flatMap { property in
                classSchema.properties.firstIndex { $0.name == property.name }
            }
            return index.map { PropertySlot(classSchema.properties[$0], at: $0).rawValue } ?? -1
        }
    }

    override func fill(_ batch: borrowing LuaRowBatch, afterRows consumed: Int) throws -> Int {
        let view = try results.results.source.openView()
        let (type, anchor) = try results.objectClass()
        defer { withExtendedLifetime(anchor) {} }
        if type.classSchema !== classSchema {
            classSchema = type.classSchema
            try compile(view)
        }
        let isUnchanged = start == ViewStamp(view)
        // Locals need no checks of exclusive access.
        var (ahead, iterator, next) = (self.ahead, self.iterator, self.next + consumed)
        let slots = slots
        self.ahead = []
        defer { (self.ahead, self.iterator, self.next) = (ahead, iterator, next) }
        if next > batch.capacity || next == ahead.count {
            ahead.removeFirst(next)
            next = 0
        }
        var row = 0
        while row < batch.capacity {
            if next + row == ahead.count {
                guard let key = iterator.next() else { break }
                ahead.append(key)
            }
            let key = ahead[next + row]
            guard try isUnchanged || type.rows.isPresent(key) else {
                ahead.remove(at: next + row)
                continue
            }
            for column in slots.indices {
                let slot = slots[column]
                let isNil = try batch.set(row, column) {
                    if slot >= 0 { return try type.get(key.rawValue, slot, $0) }
                    try set($0, paths[column], of: key)
                }
                // A nil would end the loop.
                if isNil, column == 0 { batch.set(row, 0) { $0.set(results.handle.null) } }
            }
            row += 1
        }
        return row
    }

    private func set(
        _ result: borrowing LuaResult, _ path: ProjectedPath, of key: ObjectKey
    ) throws {
        let object = results.results.source.object(classSchema, key)
        result.set(try ProjectionShape.value(of: path, object, results.handle, results.frozen))
    }
}

/// Parses the arguments of queries in scripts.
struct QueryArguments {
    private let results: ResultsHandle

    init(_ results: ResultsHandle) { self.results = results }

    /// Returns the results of `where("age > $1", 3)` or `where { name = "Rex" }`.
    func filtered(_ call: borrowing LuaCall) throws -> Results {
        let bridge = ValueBridge(results.handle, results.frozen)
        if case .table(let table) = call[2] {
            let classSchema = try results.results.classSchema()
            try call.requireNone(from: 3, "values follow the text of a predicate, not a table")
            try table.requireSpace()
            var equal: [(name: String, value: Value)] = []
            for (key, value) in table.pairs {
                try call.state.checkMemory()
                guard let name = key.text else {
                    throw call.argumentError(
                        2, "the shorthand is a table of properties: { name = value }")
                }
                guard let property = classSchema.property(named: name), property.isSingle else {
                    equal.append((name, try bridge.plain(value, "the value of '\(name)'")))
                    continue
                }
                equal.append((name, try bridge.value(value, for: property, of: classSchema)))
            }
            // The names are sorted so that the same table always produces the same query.
            equal.sort { $0.name < $1.name }
            return try results.results.filtered(equal: equal)
        }
        return try results.results.filtered(call.text(2), Self.values(call, bridge))
    }

    /// Returns the values of `$1`, `$2` … of a predicate, which is argument 2.
    static func values(_ call: borrowing LuaCall, _ bridge: ValueBridge) throws -> [Value] {
        try call.rest(from: 3).enumerated().map { index, value in
            try bridge.plain(value, "argument $\(index + 1) of the predicate")
        }
    }

    /// Parses sort keys: `sorted("age", "desc")`, `sorted { {"owner.name"}, {"age", "desc"} }`, `sorted { "name", "age"
    /// }`.
    static func sortKeys(
        _ call: borrowing LuaCall
    ) throws -> [(path: String, ascending: Bool)] {
        guard case .table(let table) = call[2] else {
            return [(try call.text(2), try ascending(call[3], call, 3))]
        }
        try call.requireNone(
            from: 3, "each key of an array has its own direction: { {\"age\", \"desc\"} }")
        try table.requireSpace()
        let keys = try table.elements { element -> (path: String, ascending: Bool)? in
            if let path = element.text { return (path, true) }
            guard let pair = element.table, pair.isArray, pair.count <= 2, let path = pair[1].text
            else { return nil }
            return (path, try ascending(pair[2], call, 2))
        }
        guard let keys else {
            throw call.argumentError(
                2, "expected an array, in which each key is \"path\" or {\"path\", \"desc\"}")
        }
        return keys
    }

    /// Parses a direction: nil, "asc" or "desc".
    static func ascending(
        _ value: LuaValue, _ call: borrowing LuaCall, _ index: Int
    ) throws -> Bool {
        switch value {
        case .nil: return true
        case .string("asc"): return true
        case .string("desc"): return false
        case .boolean(let ascending): return ascending
        default:
            throw call.argumentError(index, "the direction must be \"asc\" or \"desc\"")
        }
    }

    /// Returns key paths that are given as separate arguments or in one array.
    static func paths(_ call: borrowing LuaCall, from first: Int) throws -> [String] {
        if case .table(let table) = call[first] {
            try call.requireNone(from: first + 1, "the array contains all key paths")
            try table.requireSpace()
            guard let paths = table.texts else {
                throw call.argumentError(first, "key paths must be an array of strings")
            }
            return paths
        }
        return try (first...max(first, call.count)).map { try call.text($0) }
    }
}
