import LuaHost
import ObjectStore

/// Registers a script's function as the observer of an aggregate: `dogs:observe_aggregate("sum", "age", fn)`.
struct AggregateBinding {
    private let kind: AggregateKind
    private let path: String?
    private let function: LuaFunction
    private let name: String
    private let once: Bool

    /// Parses the arguments: the aggregate at 2, a property unless the aggregate is a count, the function, options.
    init(_ call: borrowing LuaCall) throws {
        let word = try call.text(2)
        guard let kind = AggregateKind(rawValue: word) else {
            let known = AggregateKind.allCases.map(\.rawValue)
            let near = NearestName.find(word, among: known).map { "; did you mean '\($0)'?" } ?? ""
            throw call.argumentError(
                2, "unknown aggregate '\(word)'; expected count, sum, min, max or average\(near)")
        }
        self.kind = kind
        var index = 3
        if call[3].text != nil {
            path = try call.text(3)
            index = 4
        } else {
            guard kind == .count else {
                throw call.argumentError(
                    3, "'\(word)' needs a property: observe_aggregate(\"\(word)\", \"age\", fn)")
            }
            path = nil
        }
        function = try call.function(index)
        let options = try call.options(index + 1)
        name = try ObserverBinding.name(options, call, index + 1)
        once = try ObserverBinding.flag("once", options, call, index + 1)
    }

    private var subject: String { path.map { "\(kind.rawValue) of \($0)" } ?? kind.rawValue }

    /// Observes an aggregate of results; calls the function with the new and the old value.
    func observe(_ results: ResultsHandle) throws -> LuaValue {
        let handle = results.handle
        let bridge = ValueBridge(handle, nil)
        return try handle.module.makeToken(
            name: name, subject: "\(subject) of \(results.subject)", once: once, handle, function
        ) { call in
            try results.results.observeAggregate(kind, path, name: name) { new, old in
                try call([bridge.lua(new), old.map(bridge.lua) ?? .nil])
            }
        }
    }

    /// Observes an aggregate of each section; calls the function with a table of the changed groups.
    func observe(_ sections: SectionsHandle) throws -> LuaValue {
        let handle = sections.results.handle
        let bridge = ValueBridge(handle, nil)
        return try handle.module.makeToken(
            name: name, subject: "\(subject) of \(sections.subject)", once: once, handle, function
        ) { call in
            try sections.sections.observeAggregate(kind, path, name: name) { changes in
                let groups = handle.state.makeTable(fields: changes.count)
                for change in changes {
                    let group = handle.state.makeTable(fields: 2)
                    group["new"] = change.new.map(bridge.lua) ?? .nil
                    group["old"] = change.old.map(bridge.lua) ?? .nil
                    groups.setRaw(bridge.sectionKey(change.key), .table(group))
                }
                try call([.table(groups)])
            }
        }
    }
}
