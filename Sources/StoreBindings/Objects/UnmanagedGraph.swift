import LuaHost
import ObjectStore

/// Stores unmanaged objects with all objects that they link to, including circular links.
///
/// Works in two passes because of circular links: first the objects with their plain values, then the links. After
/// that, the scripts' handles refer to the stored objects.
final class UnmanagedGraph {
    private struct Member {
        let userdata: LuaUserdata
        let object: UnmanagedObject
        let classSchema: ClassSchema
    }

    private let handle: StoreHandle
    private let mode: UpdateMode
    private let bridge: ValueBridge
    private var members: [Member] = []
    private var keys: [LuaUserdata: ObjectReference] = [:]

    private init(_ handle: StoreHandle, _ mode: UpdateMode) {
        self.handle = handle
        self.mode = mode
        bridge = ValueBridge(handle, nil)
    }

    /// Stores the unmanaged object of a userdata, unless it is already being stored.
    ///
    /// A failure leaves no partial result.
    static func add(
        _ root: LuaUserdata, to handle: StoreHandle, mode: UpdateMode
    ) throws -> ObjectReference {
        if let known = handle.additions?.keys[root] { return known }
        let graph = UnmanagedGraph(handle, handle.additions?.mode ?? mode)
        return try handle.adding(graph) { try graph.add(root) }
    }

    private func add(_ root: LuaUserdata) throws -> ObjectReference {
        try collect(root)
        try handle.store.atomically {
            for member in members { try make(member) }
            for member in members { try connect(member) }
        }
        for member in members {
            if let type = handle.objectClass(member.classSchema.table),
                let key = keys[member.userdata]?.key
            {
                member.userdata.become(LuaLiveObject(type: type, key: key.rawValue))
                try handle.ignoredProperties.set(
                    member.object.values, for: .userdata(member.userdata), in: member.classSchema,
                    handle)
            }
        }
        guard let reference = keys[root] else {
            throw StoreError(.invalidArgument, "the object could not be stored")
        }
        return reference
    }

    /// Collects the objects, closest to the root first.
    private func collect(_ root: LuaUserdata) throws {
        let schema = handle.store.view.schema
        var pending: [LuaValue] = [.userdata(root)]
        var seen: Set<LuaUserdata> = []
        var tables: Set<LuaTable> = []
        var next = 0
        while next < pending.count {
            let value = pending[next]
            next += 1
            switch value {
            case .userdata(let userdata):
                guard let object = userdata.object(as: UnmanagedObject.type),
                    seen.insert(userdata).inserted
                else { continue }
                let classSchema = try schema.require(object.className)
                // An embedded object is created from values by its owner.
                if !classSchema.isEmbedded || userdata == root {
                    members.append(
                        Member(
                            userdata: userdata, object: object, classSchema: classSchema))
                }
                for property in classSchema.properties {
                    pending.append(object.values.raw(.text(property.name)))
                }
            case .table(let table):
                guard tables.insert(table).inserted else { continue }
                pending += table.array
                pending += table.pairs.compactMap { key, value in
                    key.text.map { (name: $0, value: value) }
                }.sorted { $0.name < $1.name }.map(\.value)
            default: continue
            }
        }
    }

    private func make(_ member: Member) throws {
        let (object, classSchema) = (member.object, member.classSchema)
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
        let values = try classSchema.properties.map { property -> Value? in
            property.canHoldLinks ? nil : try value(property, member)
        }
        let isRoot = keys.isEmpty
        // A linked object can lack the key that an update needs; in this case it is created.
        let key = try handle.store.create(
            classSchema, positional: values,
            mode: isRoot || classSchema.primaryKey != nil ? mode : .error)
        keys[member.userdata] = ObjectReference(table: classSchema.table, key: key)
    }

    private func connect(_ member: Member) throws {
        guard let reference = keys[member.userdata], let object = handle.store.object(reference)
        else { return }
        var values: ValueMap = [:]
        for property in member.classSchema.properties where property.canHoldLinks {
            guard let value = try value(property, member) else { continue }
            values[property.name] = value
        }
        if !values.isEmpty { try handle.store.update(object, values, mode: mode) }
    }

    /// Returns the value of an object for a property; nil if the creation determines the value.
    ///
    /// An update with an unmanaged object writes all properties, including those that were never set.
    private func value(_ property: Property, _ member: Member) throws -> Value? {
        let given = member.object.values.raw(.text(property.name))
        if !given.isNil {
            return try bridge.value(given, for: property, of: member.classSchema)
        }
        if mode == .error || property.isBacklinks { return nil }
        if handle.functionDefaults.function(of: property, in: member.classSchema) != nil {
            return nil
        }
        if let value = property.defaultValue { return value }
        if property.collection != nil || property.isOptional { return .null }
        throw StoreError(
            .missingValue,
            "'\(member.classSchema.name).\(property.name)' is required and has no default; "
                + "pass a value of type \(property.typeName)")
    }
}
