import LuaHost
import ObjectStore

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
