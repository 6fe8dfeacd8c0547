import LuaHost
import ObjectStore

/// What an observer of an object gets: a plain table.
struct ObjectChangeTable {
    private let handle: StoreHandle

    init(_ handle: StoreHandle) { self.handle = handle }

    func table(_ change: ObjectChange) -> LuaTable {
        let state = handle.state
        let table = state.makeTable(fields: 4)
        table["object"] = handle.userdata(change.object)
        switch change.kind {
        case .change: table["type"] = "change"
        case .deleted: table["type"] = "deleted"
        case .error(let error):
            table["type"] = "error"
            table["error"] = state.value(of: error)
        }
        table["properties"] = .table(properties(change.properties))
        return table
    }

    func properties(_ changes: [PropertyChange], frozen: FrozenSpace? = nil) -> LuaTable {
        handle.state.makeTable(
            changes.map { change in
                let entry = handle.state.makeTable(fields: 3)
                entry["name"] = .text(change.name)
                entry["old"] = old(change)
                entry["new"] = new(change, of: .store(handle.store))
                return .table(entry)
            })
    }

    func old(_ change: PropertyChange) -> LuaValue { ValueBridge(handle, nil).lua(change.old) }

    /// The value after; of a list or backlinks the collection itself.
    func new(_ change: PropertyChange, of source: ObjectSource) -> LuaValue {
        guard !change.property.isSingle, let object = source.object(change.object) else {
            return ValueBridge(handle, nil).lua(change.new)
        }
        return new(change, of: object)
    }

    func new(_ change: PropertyChange, of object: LiveObject) -> LuaValue {
        let property = change.property
        if property.isBacklinks {
            guard let results = try? Results(backlinks: property, of: object) else { return .nil }
            return handle.state.userdata(ResultsHandle(results, handle, nil), ResultsHandle.type)
        }
        if property.collection != nil {
            return (try? ValueBridge(handle, nil).collection(property, of: object)) ?? .nil
        }
        return ValueBridge(handle, nil).lua(change.new)
    }
}

/// What an observer of a collection gets.
///
/// Its tables are made when they are asked for.
final class ChangeHandle {
    private let results: ResultsHandle
    private let kind: CollectionChange.Kind
    private let positions: [String: [Int]]
    private var change: CollectionChange?
    private var tables: [String: LuaTable] = [:]
    private var space: FrozenSpace?

    init(_ change: CollectionChange, _ results: ResultsHandle) {
        self.change = change
        self.results = results
        kind = change.kind
        positions = [
            "deletions": change.deletions, "insertions": change.insertions,
            "modifications": change.modifications, "modifications_new": change.modificationsNew,
        ]
    }

    /// The observer has returned: the version before is let go.
    func end() {
        change = nil
        space = nil
    }

    private func present() throws -> CollectionChange {
        guard let change else {
            throw StoreError(
                .invalidObject,
                "the objects of a change can be asked for only while its observer runs; keep what you need of them"
            )
        }
        return change
    }

    private func indices(_ name: String, _ state: LuaState) -> LuaTable {
        if let known = tables[name] { return known }
        let made = state.makeTable((positions[name] ?? []).map { .integer(Int64($0 + 1)) })
        tables[name] = made
        return made
    }

    private static func indexProperty(_ name: String, _ summary: String) -> LuaProperty<
        ChangeHandle
    > {
        LuaProperty(name, summary) { change, result in
            result.set(.table(change.indices(name, result.state)))
        }
    }

    static let type: LuaClass<ChangeHandle> = LuaClass(
        name: "change", summary: "What has changed in an observed collection.",
        methods: [
            LuaMethod("inserted", "() → array", "The objects that came.") { change, call in
                let objects = try change.present().insertedObjects
                return call.answer(.table(change.live(objects, call.state)))
            },
            LuaMethod("modified", "() → array", "The objects that were modified.") { change, call in
                let objects = try change.present().modifiedObjects
                return call.answer(.table(change.live(objects, call.state)))
            },
            LuaMethod("deleted", "() → array", "The objects that left, as they last were.") {
                change, call in
                let present = try change.present()
                guard let before = present.versionBefore else {
                    return call.answer(.table(call.state.makeTable()))
                }
                let space = change.space ?? FrozenSpace(change.results.handle, before)
                change.space = space
                return call.answer(
                    .table(call.state.makeTable(present.deletedObjects.map(space.userdata))))
            },
            LuaMethod("properties", "(i) → array", "What changed in the i-th modified row.") {
                change, call in
                let index = try call.integer(2)
                guard index >= 1 else { throw call.argumentError(2, "rows are counted from 1") }
                let entries = try change.present().properties(
                    ofModification: Int(clamping: index) - 1)
                let tables = ObjectChangeTable(change.results.handle)
                return call.answer(.table(tables.properties(entries)))
            },
        ],
        properties: [
            LuaProperty("type", "\"initial\", \"update\" or \"error\".") { change, result in
                switch change.kind {
                case .initial: result.set("initial")
                case .update: result.set("update")
                case .error: result.set("error")
                }
            },
            LuaProperty("collection", "The observed collection.") { change, result in
                let results = change.results
                let (handle, frozen) = (results.handle, results.frozen)
                switch results.origin {
                case nil: result.set(results, ResultsHandle.type)
                case .list(let list):
                    result.set(ListHandle(list, handle, frozen), ListHandle.type)
                case .set(let set): result.set(SetHandle(set, handle, frozen), SetHandle.type)
                case .map(let map): result.set(MapHandle(map, handle, frozen), MapHandle.type)
                }
            },
            LuaProperty("error", "What ended the observation, or nil.") { change, result in
                if case .error(let error) = change.kind {
                    result.set(result.state.value(of: error))
                } else {
                    result.setNil()
                }
            },
            indexProperty("deletions", "Positions before the change."),
            indexProperty("insertions", "Positions after the change."),
            indexProperty("modifications", "Positions before the change."),
            indexProperty("modifications_new", "Positions after the change."),
        ],
        metamethods: [
            LuaMethod("__tostring") { change, call in
                if case .initial = change.kind { return call.answer("change { initial }") }
                if case .error(let error) = change.kind {
                    return call.answer(.text("change { error: \(error.message) }"))
                }
                let counts = ["deletions", "insertions", "modifications"].map { name in
                    "\(name) = \(change.positions[name]?.count ?? 0)"
                }
                return call.answer(.text("change { \(counts.joined(separator: ", ")) }"))
            }
        ])

    private func live(_ objects: [ObjectReference], _ state: LuaState) -> LuaTable {
        state.makeTable(objects.map { results.handle.userdata($0) })
    }
}
