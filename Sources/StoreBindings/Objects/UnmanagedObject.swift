import LuaHost
import ObjectStore

/// An object that is not stored yet: a class name and values, created by `moonpool.new` or `store:new`, and stored by
/// `store:add`.
///
/// An object of `moonpool.new` has only the name of its class. One of `store:new` also has the defaults of the class,
/// and knows the names of its properties. Values are checked when the object is stored. Then the userdata becomes the
/// stored object; see ``UnmanagedGraph``.
final class UnmanagedObject {
    let className: String
    let values: LuaTable
    /// The store whose class the object has; nil for an object of `moonpool.new`.
    private weak var handle: StoreHandle?

    init(_ className: String, _ values: LuaTable) {
        self.className = className
        self.values = values
    }

    /// Creates an object with the given values, by name or in schema order, and with the defaults of the others.
    ///
    /// Properties that are collections are empty tables. Throws `unknown_property`, and the errors of default functions.
    init(_ classSchema: ClassSchema, _ given: LuaTable?, in handle: StoreHandle) throws {
        className = classSchema.name
        values = handle.state.makeTable(fields: classSchema.properties.count)
        self.handle = handle
        let isOrdered = given.map { $0.count > 0 } ?? false
        for (key, value) in given?.pairs ?? [] {
            var key = key
            if isOrdered, let position = key.integer {
                guard position >= 1, position <= classSchema.properties.count else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(className)' has \(classSchema.properties.count) properties, got a value for "
                            + "number \(position)")
                }
                key = .text(classSchema.properties[Int(position) - 1].name)
            }
            try check(key)
            values.setRaw(key, value)
        }
        for property in classSchema.properties
        where !property.isBacklinks && values[property.name].isNil {
            if let function = handle.functionDefaults.function(of: property, in: classSchema) {
                values[property.name] = try function.call([]).first ?? .nil
            } else if let value = property.defaultValue {
                values[property.name] = ValueBridge(handle, nil).lua(value)
            } else if property.collection != nil {
                values[property.name] = .table(handle.state.makeTable())
            }
        }
        for (name, declaration) in handle.ignoredProperties.all(of: classSchema)
        where values[name].isNil {
            values[name] =
                try declaration.initial.function.map { try $0.call([]).first ?? .nil }
                ?? declaration.initial
        }
    }

    /// Throws `unknown_property` for a name that the class in the store does not have.
    private func check(_ key: LuaValue) throws {
        guard let name = key.text else {
            throw StoreError(
                .invalidArgument, "expected property names as keys, got a \(key.typeName)")
        }
        guard let handle, let classSchema = handle.store.view.schema.find(className),
            handle.ignoredProperties.find(name, in: classSchema) == nil
        else { return }
        _ = try classSchema.requireProperty(name)
    }

    static let type: LuaClass<UnmanagedObject> = LuaClass(
        name: "unmanaged object",
        methods: [
            LuaMethod("is_valid") { $1.answer(true) },
            LuaMethod("is_frozen") { $1.answer(false) },
            LuaMethod("update") { object, call in
                for (key, value) in try call.table(2).pairs {
                    try object.check(key)
                    object.values.setRaw(key, value)
                }
                return call.answerArgument(1)
            },
            LuaMethod("freeze") { _, _ in
                throw StoreError(
                    .invalidArgument,
                    "an unmanaged object cannot be frozen; add it to a store with store:add first")
            },
            LuaMethod("to_table") { object, call in
                let copy = call.state.makeTable()
                for (key, value) in object.values.pairs { copy.setRaw(key, value) }
                return call.answer(.table(copy))
            },
            LuaMethod("observe") { _, _ in throw cannotBeObserved },
            LuaMethod("observe_value") { _, _ in throw cannotBeObserved },
        ],
        metamethods: [
            LuaMethod("__tostring") { object, call in
                let parts = try object.values.pairs.map { key, value in
                    // An address would say nothing about a collection.
                    let shown =
                        try value.table.map { $0.pairs.isEmpty ? "{}" : "{ … }" }
                        ?? "\(call.state.describe(value))"
                    return "\(try call.state.describe(key)) = \(shown)"
                }.sorted()
                return call.answer(
                    .text("\(object.className) { \(parts.joined(separator: ", ")) } (unmanaged)"))
            },
            LuaMethod("__pairs") { object, call in
                try call.answer([call.state.runtime["next"], .table(object.values), .nil])
            },
        ],
        other: { object, key, result in
            let value = object.values.raw(key)
            if value.isNil, key == .text("class") {
                result.set(object.className)
            } else {
                if value.isNil, key != .text("store") { try object.check(key) }
                result.set(value)
            }
            return true
        },
        setOther: { object, key, field in
            try object.check(key)
            object.values.setRaw(key, field.luaValue)
            return true
        })

    private static var cannotBeObserved: StoreError {
        StoreError(
            .invalidArgument,
            "an unmanaged object cannot be observed, because only a store reports changes; add it to a store "
                + "with store:add first")
    }

    /// The function `moonpool.new(class [, values])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let name = try call.text(1)
        let values = call.state.makeTable()
        if !call.isNil(2) {
            for (key, value) in try call.table(2).pairs { values.setRaw(key, value) }
        }
        return call.answer(UnmanagedObject(name, values), type)
    }
}

/// Stores unmanaged objects with all objects that they link to, including circular links.
///
/// After that, the scripts' handles refer to the stored objects.
final class UnmanagedGraph: ObjectGraph {
    private let handle: StoreHandle
    private let mode: UpdateMode
    private let bridge: ValueBridge
    private let creation: GraphCreation<LuaUserdata>

    private init(_ handle: StoreHandle, _ mode: UpdateMode) throws {
        self.handle = handle
        self.mode = mode
        bridge = ValueBridge(handle, nil)
        creation = try GraphCreation(in: handle.store, mode)
    }

    /// Stores the unmanaged object of a userdata, unless it is already being stored.
    ///
    /// A failure leaves no partial result.
    static func add(
        _ root: LuaUserdata, to handle: StoreHandle, mode: UpdateMode
    ) throws -> ObjectReference {
        if let known = handle.additions?.creation.references[root] { return known }
        let graph = try UnmanagedGraph(handle, handle.additions?.mode ?? mode)
        return try handle.adding(graph) { try graph.add(root) }
    }

    private func add(_ root: LuaUserdata) throws -> ObjectReference {
        let reference = try handle.store.atomically {
            try creation.create(root, as: classSchema(of: root), in: self)
        }
        for (userdata, reference) in creation.references {
            guard let type = handle.objectClass(reference.table), let object = object(userdata)
            else { continue }
            let values = object.values
            userdata.become(LuaLiveObject(type: type, key: reference.key.rawValue))
            try handle.ignoredProperties.set(
                values, for: .userdata(userdata), in: type.classSchema, handle)
        }
        return reference
    }

    private func object(_ userdata: LuaUserdata) -> UnmanagedObject? {
        userdata.object(as: UnmanagedObject.type)
    }

    // MARK: The graph

    func classSchema(of node: LuaUserdata) throws -> ClassSchema {
        // because: only unmanaged objects become nodes.
        try handle.store.view.schema.require(object(node)!.className)
    }

    func links(of node: LuaUserdata) throws -> [LuaUserdata] {
        let schema = handle.store.view.schema
        var found: [LuaUserdata] = []
        var pending: [LuaValue] = []
        var seen: Set<LuaUserdata> = []
        var tables: Set<LuaTable> = []
        func enter(_ object: UnmanagedObject) throws {
            for property in try schema.require(object.className).properties {
                pending.append(object.values.raw(.text(property.name)))
            }
        }
        if let root = object(node) { try enter(root) }
        var next = 0
        while next < pending.count {
            switch pending[next] {
            case .userdata(let userdata):
                guard let object = object(userdata), seen.insert(userdata).inserted else { break }
                // An embedded object is created from values by its owner.
                if try schema.require(object.className).isEmbedded {
                    try enter(object)
                } else {
                    found.append(userdata)
                }
            case .table(let table):
                guard tables.insert(table).inserted else { break }
                pending += table.array
                pending += table.pairs.compactMap { key, value in
                    key.text.map { (name: $0, value: value) }
                }.sorted { $0.name < $1.name }.map(\.value)
            default: break
            }
            next += 1
        }
        return found
    }

    func values(
        of node: LuaUserdata, in classSchema: ClassSchema, holdingLinks: Bool
    ) throws -> Value {
        guard let object = object(node) else { return .dictionary([:]) }
        if !holdingLinks {
            for (key, _) in object.values.pairs {
                guard let name = key.text else {
                    throw StoreError(
                        .invalidArgument,
                        "expected property names of '\(classSchema.name)' as keys, got a \(key.typeName)"
                    )
                }
                if handle.ignoredProperties.find(name, in: classSchema) != nil { continue }
                _ = try classSchema.requireProperty(name)
            }
        }
        var values: ValueMap = [:]
        for property in classSchema.properties where property.canHoldLinks == holdingLinks {
            guard let value = try value(property, object, classSchema) else { continue }
            values[property.name] = value
        }
        return .dictionary(values)
    }

    /// Returns the value of an object for a property; nil if the creation determines the value.
    ///
    /// An update with an unmanaged object writes all properties, including those that were never set.
    private func value(
        _ property: Property, _ object: UnmanagedObject, _ classSchema: ClassSchema
    ) throws -> Value? {
        let given = object.values.raw(.text(property.name))
        if !given.isNil { return try bridge.value(given, for: property, of: classSchema) }
        if mode == .error || property.isBacklinks { return nil }
        if handle.functionDefaults.function(of: property, in: classSchema) != nil {
            return nil
        }
        if let value = property.defaultValue { return value }
        if property.collection != nil || property.isOptional { return .null }
        throw StoreError(
            .missingValue,
            "'\(classSchema.name).\(property.name)' is required and has no default; "
                + "pass a value of type \(property.typeName)")
    }
}

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
