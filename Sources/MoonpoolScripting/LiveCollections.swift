import Moonpool
import ObjectStore
import StoreBindings

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
            if case .list(let list) = value { (list, list.source) } else { nil }
        } typed: { store, list in
            try store.hosted(list)
        }
    }
    /// Returns the list.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .list(engineForHosts)))
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
            if case .set(let set) = value { (set, set.source) } else { nil }
        } typed: { store, set in
            try store.hosted(set)
        }
    }
    /// Returns the set.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .set(engineForHosts)))
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
            if case .map(let map) = value { (map, map.source) } else { nil }
        } typed: { store, map in
            try store.hosted(map)
        }
    }
    /// Returns the map.
    public func toScript(in conversion: ScriptConversion) throws -> ScriptOperand {
        ScriptOperand(try conversion.context.storeModule.luaValue(of: .map(engineForHosts)))
    }
}
