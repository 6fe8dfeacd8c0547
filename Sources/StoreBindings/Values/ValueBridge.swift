import LuaHost
import ObjectStore

/// Converts between values of the store and values of Lua.
struct ValueBridge {
    let handle: StoreHandle
    /// The version of returned objects; nil for the live store.
    let frozen: FrozenSpace?

    init(_ handle: StoreHandle, _ frozen: FrozenSpace?) {
        self.handle = handle
        self.frozen = frozen
    }

    private var state: LuaState { handle.state }
    private static let deepest = 100

    // MARK: To Lua

    /// Converts a value for a script.
    ///
    /// Lists become plain arrays, whose nil elements are `moonpool.null`.
    func lua(_ value: Value) -> LuaValue {
        handle.json.lua(value) { frozen?.userdata($0) ?? handle.userdata($0) }
    }

    /// Converts an element of a copied collection, in which nil would be a gap: nil becomes `moonpool.null`.
    func copied(_ value: Value) -> LuaValue { value == .null ? handle.null : lua(value) }

    /// Converts the key of a section to a value that can be a key of a table.
    ///
    /// Equal keys are the same userdata while a script refers to it. NaN becomes the value of `moonpool.float(0/0)`,
    /// data that of `moonpool.data`.
    func sectionKey(_ value: Value) -> LuaValue {
        let key: LuaValue
        switch value {
        case .null: return handle.null
        case .double(let number) where number.isNaN: return sectionKey(.float(.nan))
        case .float(let number) where number.isNaN:
            key = state.userdata(FloatBox(number), FloatBox.type)
        case .data(let bytes): key = state.userdata(DataBox(bytes), DataBox.type)
        default: key = lua(value)
        }
        guard key.userdata != nil || key.table != nil else { return key }
        var hasher = Hasher()
        hasher.combine(value)
        if value.firstObject != nil { hasher.combine(frozen.map(ObjectIdentifier.init)) }
        let hash = LuaValue.integer(Int64(hasher.finalize()))
        let known = handle.sectionKeys.raw(hash)
        if !known.isNil, (try? mixed(known)) == value { return known }
        handle.sectionKeys.setRaw(hash, key)
        return key
    }

    /// Returns the list, set or map of a property.
    func collection(_ property: Property, of object: LiveObject) throws -> LuaValue {
        switch property.collection {
        case .list: handle.userdata(.collection(try object.list(property.name)), at: frozen)
        case .set: handle.userdata(.collection(try object.set(property.name)), at: frozen)
        case .map: handle.userdata(.collection(try object.map(property.name)), at: frozen)
        case nil: lua(try object.value(property.name))
        }
    }

    // MARK: From Lua

    /// Converts a value that a script assigns to a property.
    func value(
        _ field: borrowing LuaField, for property: Property, of classSchema: ClassSchema
    ) throws -> Value {
        switch field.kind {
        case .null: return .null
        case .bool: return .bool(field.bool)
        case .int: return .int(field.int)
        case .double: return .double(field.double)
        case .string:
            if property.type == .data { return .data(field.bytes) }
            if property.type == .mixed, field.text == nil { return .data(field.bytes) }
            guard let text = field.text else { throw Self.notText(property, classSchema) }
            return .string(text)
        case .object: return try object(field.object)
        case .box:
            if let box = field.swiftObject as? ValueBox { return box.value }
            return try value(field.luaValue, for: property, of: classSchema)
        case .other: return try value(field.luaValue, for: property, of: classSchema)
        }
    }

    /// Converts a value for a property: strings become data if the property holds data, tables become lists or the
    /// values of a new object.
    func value(
        _ value: LuaValue, for property: Property, of classSchema: ClassSchema, depth: Int = 0
    ) throws -> Value {
        guard depth <= Self.deepest else {
            throw StoreError(
                .invalidArgument,
                "values are nested more than \(Self.deepest) tables deep, or contain themselves")
        }
        if property.type == .mixed, property.isSingle { return try mixed(value) }
        switch value {
        case .string(let string):
            if property.type == .data { return .data(string.bytes) }
            guard let text = string.text else { throw Self.notText(property, classSchema) }
            return .string(text)
        case .table(let table):
            guard let kind = property.collection else {
                return try nested(table, for: property, in: classSchema, depth: depth)
            }
            return try handle.json.collection(table, kind) { key in
                let shown =
                    kind == .map
                    ? key.integer.map { "\($0)" } ?? "a \(key.typeName)"
                    : key.text.map { "'\($0)'" } ?? key.typeName
                return StoreError(
                    .typeMismatch,
                    "property '\(property.name)' of '\(classSchema.name)' expects \(property.typeName), got a table "
                        + "with the key \(shown); "
                        + (kind == .map
                            ? "the keys of a map are strings" : "pass an array without gaps"))
            } _: {
                try element($0, of: property, of: classSchema, depth: depth)
            }
        case .userdata(let userdata) where property.type != .mixed:
            if let unmanaged = userdata.object(as: UnmanagedObject.type) {
                return try stored(
                    unmanaged, userdata: userdata, for: property, in: classSchema, depth: depth)
            }
            return try plain(value, "property '\(property.name)' of '\(classSchema.name)'")
        default: return try plain(value, "property '\(property.name)' of '\(classSchema.name)'")
        }
    }

    /// Converts an element of a collection.
    func element(
        _ value: LuaValue, of property: Property, of classSchema: ClassSchema, depth: Int = 0
    ) throws -> Value {
        if property.type == .mixed { return try mixed(value) }
        if case .table(let table) = value {
            return try nested(table, for: property, in: classSchema, depth: depth)
        }
        return try self.value(value, for: property, of: classSchema, depth: depth)
    }

    private func nested(
        _ table: LuaTable, for property: Property, in classSchema: ClassSchema, depth: Int
    ) throws -> Value {
        guard property.type == .object,
            let target = handle.store.view.schema.target(of: property)
        else {
            let subject = property.collection == nil ? "property" : "an element of"
            let type = property.collection == nil ? property.typeName : property.elementTypeName
            throw StoreError(
                .typeMismatch,
                "\(subject) '\(property.name)' of '\(classSchema.name)' expects \(type), got a table"
            )
        }
        return try values(table, of: target, depth: depth + 1)
    }

    /// Returns the value of an unmanaged object that is assigned to a property.
    ///
    /// The object is stored; if the property owns embedded objects, its values are used.
    private func stored(
        _ unmanaged: UnmanagedObject, userdata: LuaUserdata, for property: Property,
        in classSchema: ClassSchema, depth: Int
    ) throws -> Value {
        guard depth < Self.deepest else {
            throw StoreError(
                .invalidArgument,
                "objects are embedded in each other more than \(Self.deepest) deep, or in themselves"
            )
        }
        let named = try handle.store.view.schema.require(unmanaged.className)
        guard let target = handle.store.view.schema.target(of: property), target === named else {
            throw StoreError(
                .typeMismatch,
                "property '\(property.name)' of '\(classSchema.name)' expects \(property.typeName), "
                    + "got a '\(named.name)'")
        }
        if named.isEmbedded { return try values(unmanaged.values, of: named, depth: depth + 1) }
        return .object(try UnmanagedGraph.add(userdata, to: handle, mode: handle.nestedMode))
    }

    /// Stores an unmanaged object inside a mixed value.
    func linked(_ unmanaged: UnmanagedObject, _ userdata: LuaUserdata) throws -> Value {
        let classSchema = try handle.store.view.schema.require(unmanaged.className)
        guard !classSchema.isEmbedded else {
            throw StoreError(
                .typeMismatch,
                "a mixed value cannot hold a '\(classSchema.name)': an embedded object belongs to one "
                    + "parent")
        }
        return .object(try UnmanagedGraph.add(userdata, to: handle, mode: handle.nestedMode))
    }

    /// Converts the values of an object in a table, by name or in schema order.
    func values(_ table: LuaTable, of classSchema: ClassSchema, depth: Int = 0) throws -> Value {
        if table.count > 0 {
            guard table.isArray else {
                throw StoreError(
                    .invalidArgument,
                    "the values of a '\(classSchema.name)' are either all named or all in the order of "
                        + "its properties")
            }
            let array = table.array
            guard array.count <= classSchema.properties.count else {
                throw StoreError(
                    .invalidArgument,
                    "'\(classSchema.name)' has \(classSchema.properties.count) properties, got \(array.count) values"
                )
            }
            return .list(
                try zip(array, classSchema.properties).map {
                    try value($0, for: $1, of: classSchema, depth: depth)
                })
        }
        return .dictionary(try named(table, of: classSchema, depth: depth))
    }

    /// Converts values by property name.
    func named(
        _ table: LuaTable, of classSchema: ClassSchema, depth: Int = 0
    ) throws -> ValueMap {
        var values: ValueMap = [:]
        for (key, element) in table.pairs {
            guard let name = key.text else {
                throw StoreError(
                    .invalidArgument,
                    "expected property names of '\(classSchema.name)' as keys, got a \(key.typeName)"
                )
            }
            if handle.ignoredProperties.find(name, in: classSchema) != nil { continue }
            let property = try classSchema.requireProperty(name)
            values[name] = try value(element, for: property, of: classSchema, depth: depth)
        }
        return values
    }

    /// Converts a value without a property that determines its type: an argument of a query, or a value to search for.
    func plain(
        _ value: LuaValue, _ subject: @autoclosure () -> String, depth: Int = 0
    ) throws -> Value {
        guard depth <= Self.deepest else {
            throw StoreError(
                .invalidArgument,
                "\(subject()) is nested more than \(Self.deepest) tables deep, or contains itself")
        }
        switch value {
        case .userdata(let userdata):
            if let live = userdata.liveObject { return try object(live) }
            if let box = userdata.swiftObject as? ValueBox { return box.value }
            if let elements = try elements(of: userdata) { return .list(elements) }
            if let entries = try entries(of: userdata) { return .dictionary(entries) }
            if let unmanaged = userdata.object(as: UnmanagedObject.type) {
                // This reference is not equal to any object in the store.
                let classSchema = try handle.store.view.schema.require(unmanaged.className)
                return .object(
                    ObjectReference(table: classSchema.table, key: ObjectKey(rawValue: -1)))
            }
        case .table(let table):
            return try handle.json.collection(table) { _ in
                StoreError(
                    .typeMismatch,
                    "\(subject()) is neither an array nor a table with text as keys")
            } _: {
                try plain($0, subject(), depth: depth + 1)
            }
        default: if let plain = handle.json.value(value) { return plain }
        }
        throw StoreError(.typeMismatch, "\(subject()) cannot be a \(value.typeName)")
    }

    /// Returns the elements of a list, a set, their values, or Results; nil for other values.
    func elements(of userdata: LuaUserdata) throws -> [Value]? {
        guard let held = userdata.held else { return nil }
        return try held.elements().map { try own($0, of: held.handle) }
    }

    /// Returns the entries of a map; nil for other values.
    func entries(of userdata: LuaUserdata) throws -> ValueMap? {
        guard let held = userdata.held else { return nil }
        return try held.entries()?.mapValues { try own($0, of: held.handle) }
    }

    /// Converts values of a store in another handle, where object keys refer to different objects.
    func own(_ values: [Value], of other: StoreHandle) throws -> [Value] {
        if other !== handle { for value in values { _ = try own(value, of: other) } }
        return values
    }

    /// Converts a value of a store in another handle.
    func own(_ value: Value, of other: StoreHandle) throws -> Value {
        guard other !== handle, let object = value.firstObject else { return value }
        let name = other.store.view.schema.find(table: object.table)?.name ?? "object"
        throw StoreError(
            .invalidObject,
            "this collection holds a '\(name)' that belongs to another store; copy its objects with "
                + "store:create(\"\(name)\", object)")
    }

    /// Returns the object or date of a live userdata; an object must belong to this store.
    private func object(_ live: LuaLiveObject) throws -> Value {
        if live.type === handle.dates {
            return .date(Timestamp(microseconds: live.key))
        }
        guard let type = live.type as? ObjectClass else {
            throw StoreError(.typeMismatch, "this value cannot be stored")
        }
        guard type.handle === handle else {
            throw StoreError(
                .invalidObject,
                "this '\(type.classSchema.name)' belongs to another store; copy it with "
                    + "store:create(\"\(type.classSchema.name)\", object)")
        }
        return .object(type.reference(live.key))
    }

    private static func notText(_ property: Property, _ classSchema: ClassSchema) -> StoreError {
        StoreError(
            .typeMismatch,
            "property '\(property.name)' of '\(classSchema.name)' expects \(property.typeName), got bytes that are not "
                + "UTF-8; declare it \"data\" to store bytes")
    }
}

extension Value {
    /// The first object that the value is or contains; nil for plain values.
    fileprivate var firstObject: ObjectReference? {
        switch self {
        case .object(let reference): reference
        case .list(let values): values.lazy.compactMap(\.firstObject).first
        case .dictionary(let values): values.values.lazy.compactMap(\.firstObject).first
        default: nil
        }
    }
}
