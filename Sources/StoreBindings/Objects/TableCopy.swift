import LuaHost
import ObjectStore

/// Copies objects into plain tables.
///
/// Each object becomes one table, so circular links become circular tables. Objects are copied breadth-first: an object
/// becomes a table if the shortest path to it is within the depth.
struct TableCopy {
    private let handle: StoreHandle
    private let frozen: FrozenSpace?
    private var tables: [ObjectReference: LuaTable] = [:]
    private var level: [(object: LiveObject, table: LuaTable)] = []
    private var nextLevel: [(object: LiveObject, table: LuaTable)] = []

    init(_ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.handle = handle
        self.frozen = frozen
    }

    /// Copies the properties of an object into a table.
    ///
    /// Linked objects become tables up to the depth, and remain live objects beyond it. Embedded objects always become
    /// tables, because they are part of their owner.
    mutating func table(_ object: LiveObject, _ depth: Int) throws -> LuaTable {
        let table = makeTable(object)
        level = [(object, table)]
        try fill(depth)
        return table
    }

    /// Copies the elements of a list or of Results, which form the first level.
    mutating func array(_ values: [Value], _ source: ObjectSource, _ depth: Int) throws -> LuaTable
    {
        let array = try handle.state.makeTable(of: values) {
            try element($0, source, depth + 1)
        }
        (level, nextLevel) = (nextLevel, [])
        try fill(depth)
        return array
    }

    private mutating func fill(_ depth: Int) throws {
        var left = depth
        while !level.isEmpty {
            // Embedded objects are appended to the level that is being processed.
            var next = 0
            while next < level.count {
                let (object, table) = level[next]
                next += 1
                try handle.state.checkMemory()
                for property in object.classSchema.properties where !property.isBacklinks {
                    table[property.name] = try copy(
                        try object.value(property.name), object.source, left)
                }
            }
            left -= 1
            (level, nextLevel) = (nextLevel, [])
        }
    }

    private mutating func copy(
        _ value: Value, _ source: ObjectSource, _ depth: Int
    ) throws -> LuaValue {
        switch value {
        case .object(let reference):
            if let known = tables[reference] { return .table(known) }
            guard let linked = source.object(reference) else { return .nil }
            let isEmbedded = linked.classSchema.isEmbedded
            guard isEmbedded || depth > 1 else { return ValueBridge(handle, frozen).lua(value) }
            try handle.state.checkMemory()
            let table = makeTable(linked)
            if isEmbedded {
                level.append((linked, table))
            } else {
                nextLevel.append((linked, table))
            }
            return .table(table)
        case .list(let elements):
            return .table(
                try handle.state.makeTable(of: elements) { try element($0, source, depth) })
        case .dictionary(let entries):
            let table = handle.json.makeMap(ofCount: entries.count)
            for (key, element) in entries { table[key] = try self.element(element, source, depth) }
            return .table(table)
        default: return ValueBridge(handle, frozen).lua(value)
        }
    }

    private mutating func element(
        _ value: Value, _ source: ObjectSource, _ depth: Int
    ) throws -> LuaValue {
        let element = try copy(value, source, depth)
        return element.isNil ? handle.null : element
    }

    private mutating func makeTable(_ object: LiveObject) -> LuaTable {
        let table = handle.state.makeTable(fields: object.classSchema.properties.count)
        tables[object.reference] = table
        return table
    }
}
