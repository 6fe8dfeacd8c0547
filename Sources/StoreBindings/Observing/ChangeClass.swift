import LuaHost
import ObjectStore

/// The change that an observer of an object receives: a plain table.
struct ObjectChangeTable {
    private let handle: StoreHandle

    init(_ handle: StoreHandle) { self.handle = handle }

    func table(_ change: ObjectChange) throws -> LuaTable {
        let state = handle.state
        let table = state.makeTable(fields: 5)
        table["object"] = handle.userdata(change.object)
        switch change.kind {
        case .change: table["type"] = "change"
        case .deleted: table["type"] = "deleted"
        case .error(let error):
            table["type"] = "error"
            table["error"] = state.value(of: error)
        }
        table["schema"] = handle.store.notifications.deliveredSchema?.lua(state) ?? .nil
        table["properties"] = try .table(properties(change.properties))
        // The error is ignored: it occurs only after the script has ended, when no code prints the table.
        table.metatable = try? handle.module.changeMetatables.ofObjects
        return table
    }

    func properties(_ changes: [PropertyChange], frozen: FrozenSpace? = nil) throws -> LuaTable {
        try handle.state.makeTable(
            changes.map { change in
                let entry = handle.state.makeTable(fields: 3)
                entry["name"] = .text(change.name)
                entry["old"] = try old(change)
                entry["new"] = try new(change, of: .store(handle.store))
                return .table(entry)
            })
    }

    func old(_ change: PropertyChange) throws -> LuaValue {
        try ValueBridge(handle, nil).lua(change.old)
    }

    /// Returns the new value; for a list or backlinks, the collection itself.
    func new(_ change: PropertyChange, of source: ObjectSource) throws -> LuaValue {
        guard !change.property.isSingle, let object = source.object(change.object) else {
            return try ValueBridge(handle, nil).lua(change.new)
        }
        return try new(change, of: object)
    }

    func new(_ change: PropertyChange, of object: LiveObject) throws -> LuaValue {
        guard !change.property.isSingle else { return try ValueBridge(handle, nil).lua(change.new) }
        return try current(change.property, of: object)
    }

    /// Returns the present value of a property, or its collection.
    func current(_ property: Property, of object: LiveObject) throws -> LuaValue {
        if property.isBacklinks {
            guard let results = try? Results(backlinks: property, of: object) else { return .nil }
            return handle.state.userdata(ResultsHandle(results, handle, nil), ResultsHandle.type)
        }
        if property.collection != nil {
            return (try? ValueBridge(handle, nil).collection(property, of: object)) ?? .nil
        }
        return try ValueBridge(handle, nil).lua(object.value(property.name))
    }
}

extension SchemaEvent {
    /// Returns the table that observers receive for a change of the schema.
    func lua(_ state: LuaState) -> LuaValue {
        let table = state.makeTable(fields: 4)
        table["event"] = .text(kind.rawValue)
        table["number"] = number.map { .integer(Int64($0)) } ?? .nil
        table["name"] = name.map { .text($0) } ?? .nil
        table["version"] = .integer(Int64(clamping: version))
        return .table(table)
    }
}
