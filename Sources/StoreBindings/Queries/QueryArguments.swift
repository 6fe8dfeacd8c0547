import LuaHost
import ObjectStore

/// Parses the arguments of queries in scripts.
struct QueryArguments {
    private let results: ResultsHandle

    init(_ results: ResultsHandle) { self.results = results }

    /// Returns the results of `where("age > $1", 3)` or `where { name = "Rex" }`.
    func filtered(_ call: borrowing LuaCall) throws -> Results {
        let bridge = ValueBridge(results.handle, results.frozen)
        if case .table(let table) = call[2] {
            let classSchema = try results.results.classSchema()
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
        let text = try call.text(2)
        let arguments = try call.rest(from: 3).enumerated().map { index, value in
            try bridge.plain(value, "argument $\(index + 1) of the predicate")
        }
        return try results.results.filtered(text, arguments)
    }

    /// Parses sort keys: `sorted("age", "desc")`, `sorted { {"owner.name"}, {"age", "desc"} }`, `sorted { "name", "age"
    /// }`.
    static func sortKeys(
        _ call: borrowing LuaCall
    ) throws -> [(path: String, ascending: Bool)] {
        guard case .table(let table) = call[2] else {
            return [(try call.text(2), try ascending(call[3], call, 3))]
        }
        try table.requireSpace()
        return try table.array.map { element in
            if let path = element.text { return (path, true) }
            guard let pair = element.table, let path = pair[1].text else {
                throw call.argumentError(2, "each sort key is {\"path\"} or {\"path\", \"desc\"}")
            }
            return (path, try ascending(pair[2], call, 2))
        }
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
            try table.requireSpace()
            return try table.array.map { element in
                guard let path = element.text else {
                    throw call.argumentError(first, "key paths must be strings")
                }
                return path
            }
        }
        return try (first...max(first, call.count)).map { try call.text($0) }
    }
}
