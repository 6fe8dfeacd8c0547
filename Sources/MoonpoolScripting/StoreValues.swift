import LuaHost
import Moonpool
import ObjectStore
import StoreBindings

#if Foundation
    import FoundationEssentials
#endif

/// A stored value that is a date, an identifier, a decimal number or data in scripts.
///
/// ```swift
/// try engine.register("tomorrow(date)") { (date: Date) in date.addingTimeInterval(86_400) }
/// ```
public protocol StoredScriptValue: ScriptValue, StoredValue {}

extension StoredScriptValue {
    /// The name of the type in the schema.
    public static var scriptTypeName: String { storedType.scriptName }
    /// The class of the API: `moonpool.Date`.
    public static var scriptAnnotation: String { storedType.scriptAnnotation }
    /// Converts a value of the type.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    {
        guard let value = conversion.context.storeModule.plainValue(operand.lua),
            let converted = try? Self(stored: storedType.coerced(value))
        else { throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua) }
        return converted
    }
    /// Returns the value.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(conversion.context.storeModule.luaValue(plain: stored.engineValue))
    }
}

extension StoredType {
    fileprivate var scriptName: String { type.rawValue }

    var scriptAnnotation: String {
        type == .decimal ? "moonpool.Decimal|number" : type.traits.luaType
    }

    /// Converts text to data if this is the type.
    fileprivate func coerced(_ value: Value) -> Mixed {
        if type == .data, case .string(let text) = value { return .data(Array(text.utf8)) }
        return Mixed(value)
    }
}

extension Timestamp: StoredScriptValue {}
extension UUIDValue: StoredScriptValue {}
extension ObjectIDValue: StoredScriptValue {}
extension DecimalValue: StoredScriptValue {}
#if Foundation
    extension Date: StoredScriptValue {}
    extension UUID: StoredScriptValue {}
    extension Decimal: StoredScriptValue {}
    extension Data: StoredScriptValue {}
#endif

extension ScriptValue where Self: RawRepresentable, RawValue: ScriptValue {
    /// The type of the raw value.
    public static var scriptTypeName: String { RawValue.scriptTypeName }
    /// Returns the case of a raw value.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    {
        let raw = try RawValue.fromScript(operand, in: conversion)
        guard let value = Self(rawValue: raw) else {
            var mismatch = ScriptTypeMismatch(expected: "\(Self.self)", found: operand.lua)
            mismatch.found = "\(raw)"
            throw mismatch
        }
        return value
    }
    /// Returns the raw value.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        try rawValue.toScript(in: conversion)
    }
}

// MARK: - Identifiers

extension ObjectID: ScriptConvertible where M: Model {
    /// The name of the class.
    public static var scriptTypeName: String { M.className }
    /// The name of the class: scripts pass and receive the object itself.
    public static var scriptAnnotation: String { M.className }
    /// Returns the identifier of an object of the class.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> ObjectID
    {
        guard case .object(let object)? = conversion.context.storeModule.inspect(operand.lua),
            object.classSchema.name == M.className
        else { throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua) }
        return ObjectID(of: object)
    }
    /// Returns the object in the script's store with the class.
    ///
    /// Throws `invalid_object` if the script does not have the object's file open.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(
            try conversion.context.storeModule.luaValue(of: key, ofClass: M.className, in: file))
    }
}

extension ObjectID: ScriptValue where M: Model {}

// MARK: - Frozen values

extension Frozen: ScriptConvertible where M: Model {
    /// The name of the class.
    public static var scriptTypeName: String { M.className }
    /// The name of the class.
    public static var scriptAnnotation: String { M.className }
    /// Converts a frozen object of the class, or the current state of a valid object.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Frozen
    {
        let context = conversion.context
        var mismatch = ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        guard case .object(let object)? = context.storeModule.inspect(operand.lua),
            let engine = context.storeModule.store(of: operand.lua)
        else { throw mismatch }
        mismatch.found = object.classSchema.name
        guard object.classSchema.name == M.className else { throw mismatch }
        guard object.isValid else {
            mismatch.found = "a deleted \(M.className)"
            throw mismatch
        }
        do { return try HostStores.of(context).store(engine).hostedFrozen(object) } catch {
            mismatch.found = (error as? StoreError)?.message ?? "\(error)"
            throw mismatch
        }
    }
    /// Returns the frozen object.
    ///
    /// Throws `invalid_argument` if the script has not opened a store of the object's file.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        let module = conversion.context.storeModule
        for handle in module.handles {
            if let object = try hosted(by: handle.store) {
                return ScriptOperand(try module.luaValue(frozen: object, of: handle.store))
            }
        }
        throw StoreError(
            .invalidArgument,
            "the script has not opened the file of this frozen '\(M.className)'; open it first")
    }
}

extension Frozen: ScriptValue where M: Model {}

// MARK: - Mixed values

extension Mixed: ScriptValue {
    /// `plain value or object`.
    public static var scriptTypeName: String { "plain value or object" }
    /// `any`.
    public static var scriptAnnotation: String { "any" }
    /// Converts a plain value, an object, or a table of these: a list if its keys are 1 to n, otherwise a map with
    /// strings as keys.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Mixed
    {
        let module = conversion.context.storeModule
        return try ScriptTree.walk(
            operand.lua, scriptTypeName, list: Mixed.list, map: Mixed.map
        ) { value in
            if let plain = module.plainValue(value) { return Mixed(plain) }
            guard case .object(let object)? = module.inspect(value) else { return nil }
            return .object(
                AnyObjectID(
                    object.reference, object.classSchema.name, in: object.source.view.fileNumber))
        }
    }
    /// Returns the value.
    ///
    /// A link becomes the object in the script's store with its class.
    ///
    /// Throws `invalid_object` for a link if the script does not have the file of its object open.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        let context = conversion.context
        switch self {
        case .object(let id):
            return ScriptOperand(
                try context.storeModule.luaValue(
                    of: id.reference.key, ofClass: id.className ?? "", in: id.file))
        case .list(let elements): return try elements.toScript(in: conversion)
        case .map(let elements): return try elements.toScript(in: conversion)
        default: return ScriptOperand(context.storeModule.luaValue(plain: engineValue))
        }
    }
}

// MARK: - Live values

/// The typed stores of a script, one for each open store.
final class HostStores {
    private var stores: [ObjectIdentifier: (engine: ObjectStore.Store, typed: Moonpool.Store)] = [:]

    static func of(_ context: ScriptContext) -> HostStores {
        let key = ObjectIdentifier(HostStores.self)
        if let known = context.attachments[key] as? HostStores { return known }
        let created = HostStores()
        context.attachments[key] = created
        return created
    }

    func throwFailure() throws {
        for (_, typed) in stores.values { try typed.throwFailure() }
    }

    func store(_ engine: ObjectStore.Store) -> Moonpool.Store {
        if let known = stores[ObjectIdentifier(engine)], known.engine === engine {
            return known.typed
        }
        stores = stores.filter { !$0.value.engine.isClosed }
        let created = Moonpool.Store(hosted: engine)
        stores[ObjectIdentifier(engine)] = (engine, created)
        return created
    }
}

extension ScriptContext {
    /// Returns the typed store of a source; nil for a frozen version.
    func typedStore(_ source: ObjectSource) -> Moonpool.Store? {
        guard case .store(let engine) = source else { return nil }
        return HostStores.of(self).store(engine)
    }
}

extension Live: ScriptConvertible {
    /// The name of the class.
    public static var scriptTypeName: String { M.className }
    /// The name of the class.
    public static var scriptAnnotation: String { M.className }
    /// Converts a valid live object of the class.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Live
    {
        let context = conversion.context
        var mismatch = ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua)
        guard case .object(let object)? = context.storeModule.inspect(operand.lua),
            object.classSchema.name == M.className
        else {
            if case .object(let object)? = context.storeModule.inspect(operand.lua) {
                mismatch.found = object.classSchema.name
            }
            throw mismatch
        }
        guard let store = context.typedStore(object.source) else {
            mismatch.found = "a frozen \(M.className)"
            throw mismatch
        }
        guard object.isValid else {
            mismatch.found = "a deleted \(M.className)"
            throw mismatch
        }
        do { return try store.hosted(object) } catch {
            mismatch.found = "\(error)"
            throw mismatch
        }
    }
    /// Returns the object.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: engineObject))
    }
}

extension Moonpool.Results: ScriptConvertible {
    /// `results`.
    public static var scriptTypeName: String { "results of \(M.className)" }
    /// `moonpool.Results<Dog>`.
    public static var scriptAnnotation: String { "moonpool.Results<\(M.className)>" }
    /// Converts live results of the class.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Moonpool.Results<M>
    {
        let context = conversion.context
        guard case .results(let results)? = context.storeModule.inspect(operand.lua),
            (try? results.classSchema().name) == M.className,
            let store = context.typedStore(results.source),
            let typed: Moonpool.Results<M> = try? store.hosted(results)
        else { throw ScriptTypeMismatch(expected: scriptTypeName, found: operand.lua) }
        return typed
    }
    /// Returns the results.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .results(engineForHosts)))
    }
}

// The lists, sets and maps of live objects, which Swift functions and scripts change in place.

extension StoredType {
    fileprivate var elementAnnotation: String {
        let name =
            switch type {
            case .bool: "boolean"
            case .int: "integer"
            case .float, .double: "number"
            case .string: "string"
            case .object, .backlinks: target?.className ?? "any"
            default: scriptAnnotation
            }
        return isOptional && name != "any" && target == nil ? name + "?" : name
    }
}

/// Converts the engine's value of a Lua value, with the typed store of the value.
private func convert<Engine, Typed: ScriptConvertible>(
    _ operand: ScriptOperand, in context: ScriptContext,
    _ engine: (Inspection) -> (Engine, ObjectSource)?,
    typed: (Moonpool.Store, Engine) throws -> Typed
) throws(ScriptTypeMismatch) -> Typed {
    var mismatch = ScriptTypeMismatch(expected: Typed.scriptTypeName, found: operand.lua)
    guard let (found, source) = context.storeModule.inspect(operand.lua).flatMap(engine) else {
        throw mismatch
    }
    guard let store = context.typedStore(source) else {
        mismatch.found = "a frozen one"
        throw mismatch
    }
    do { return try typed(store, found) } catch {
        mismatch.found = (error as? StoreError)?.message ?? "\(error)"
        throw mismatch
    }
}

extension Moonpool.LiveList: ScriptConvertible {
    /// `list`.
    public static var scriptTypeName: String { "list" }
    /// `moonpool.List<integer>`.
    public static var scriptAnnotation: String {
        "moonpool.List<\(Element.storedType.elementAnnotation)>"
    }
    /// Converts a live list with elements of this type.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Moonpool.LiveList<Element>
    {
        try convert(operand, in: conversion.context) { value in
            if case .collection(let list as ObjectStore.LiveList) = value {
                (list, list.source)
            } else {
                nil
            }
        } typed: { store, list in
            try store.hosted(list)
        }
    }
    /// Returns the list.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .collection(engineForHosts)))
    }
}

extension Moonpool.LiveSet: ScriptConvertible {
    /// `set`.
    public static var scriptTypeName: String { "set" }
    /// `moonpool.Set<integer>`.
    public static var scriptAnnotation: String {
        "moonpool.Set<\(Element.storedType.elementAnnotation)>"
    }
    /// Converts a live set with elements of this type.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Moonpool.LiveSet<Element>
    {
        try convert(operand, in: conversion.context) { value in
            if case .collection(let set as ObjectStore.LiveSet) = value {
                (set, set.source)
            } else {
                nil
            }
        } typed: { store, set in
            try store.hosted(set)
        }
    }
    /// Returns the set.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .collection(engineForHosts)))
    }
}

extension Moonpool.LiveMap: ScriptConvertible {
    /// `map`.
    public static var scriptTypeName: String { "map" }
    /// `moonpool.Map<integer>`.
    public static var scriptAnnotation: String {
        "moonpool.Map<\(Element.storedType.elementAnnotation)>"
    }
    /// Converts a live map with values of this type.
    public static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Moonpool.LiveMap<Element>
    {
        try convert(operand, in: conversion.context) { value in
            if case .collection(let map as ObjectStore.LiveMap) = value {
                (map, map.source)
            } else {
                nil
            }
        } typed: { store, map in
            try store.hosted(map)
        }
    }
    /// Returns the map.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .collection(engineForHosts)))
    }
}
