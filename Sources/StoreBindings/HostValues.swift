import LuaHost
import ObjectStore

/// A member that a host program adds to the objects of a class.
package enum HostMember {
    /// A method, whose first argument is the object.
    case method(LuaFunction)
    /// A property that is computed when it is read.
    case property((LiveObject) throws -> LuaValue)
}

// Conversions of values between a host program and its scripts.
extension StoreModule {
    /// Adds a member to the objects of a class, in every store of the script.
    ///
    /// Properties of the class and methods of all objects take precedence.
    package func add(_ member: HostMember, named name: String, toObjectsOf className: String) {
        hostMembers[className, default: [:]][name] = member
    }

    /// Returns the value of a Lua scalar, text, date, identifier, decimal or data; nil for objects and other values.
    package func plainValue(_ value: LuaValue) -> Value? {
        switch value {
        case .nil: return .null
        case .boolean(let flag): return .bool(flag)
        case .integer(let number): return .int(number)
        case .number(let number): return .double(number)
        case .string(let string): return string.text.map(Value.string) ?? .data(string.bytes)
        case .userdata(let userdata): return json.value(userdata)
        default: return nil
        }
    }

    /// Returns the Lua value of a value that contains no objects.
    package func luaValue(plain value: Value) -> LuaValue { json.lua(value) }

    private func handle(of source: ObjectSource) throws -> StoreHandle {
        guard case .store(let store) = source else {
            throw StoreError(.frozen, "a frozen value cannot be passed to a script")
        }
        guard let handle = handles.first(where: { $0.store === store }) else {
            throw StoreError(
                .invalidArgument, "this belongs to a store that the script has not opened")
        }
        return handle
    }

    /// Returns the Lua value of an object of one of the script's stores.
    ///
    /// Throws `invalid_argument` for an object of another store.
    package func luaValue(of object: LiveObject) throws -> LuaValue {
        try handle(of: object.source).userdata(object.reference)
    }

    /// Returns the elements of results, a list, a set or their values; nil for another value.
    ///
    /// Throws the errors of reading them.
    package func elements(of value: LuaValue) throws -> [LuaValue]? {
        guard let held = value.userdata?.held else { return nil }
        if case .nested = held.value { return nil }
        return try held.elements()?.map(held.bridge.copied)
    }

    /// Returns the store that a live or frozen object of the script was read from; nil for other values.
    package func store(of value: LuaValue) -> Store? {
        value.userdata?.liveObject?.stored?.type.handle.store
    }

    /// Returns the Lua value of a frozen object; `store` is the script's store that contains the view of the object.
    package func luaValue(frozen object: LiveObject, of store: Store) throws -> LuaValue {
        guard case .frozen(let view) = object.source else { return try luaValue(of: object) }
        return try handle(of: .store(store)).frozenSpace(of: view).userdata(object.reference)
    }

    /// Returns the Lua value of the object with this class and key; `file` is the number of its file.
    ///
    /// Throws `invalid_object` if no store of the script has the file and the class, and `invalid_argument` for an
    /// unknown file (0) if several have the class.
    package func luaValue(
        of key: ObjectKey, ofClass name: String, in file: UInt64
    ) throws -> LuaValue {
        let candidates = handles.filter { handle in
            (file == 0 || handle.store.view.fileNumber == file)
                && handle.store.schema.find(name) != nil
        }
        guard let handle = candidates.first, let classSchema = handle.store.schema.find(name) else {
            throw StoreError(
                .invalidObject, "this '\(name)' belongs to a store that the script has not opened")
        }
        guard candidates.count == 1 || file != 0 else {
            throw StoreError(
                .invalidArgument,
                "\(candidates.count) stores of the script have the class '\(name)'; an identifier needs exactly one"
            )
        }
        return handle.userdata(ObjectReference(table: classSchema.table, key: key))
    }

    /// Returns the Lua value of results or of a collection of one of the script's stores.
    ///
    /// Throws `invalid_argument` for those of another store.
    package func luaValue(of value: ReferencedValue) throws -> LuaValue {
        try handle(of: value.source).userdata(value, at: nil)
    }
}
