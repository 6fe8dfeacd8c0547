import LuaHost

/// A value that Swift functions receive from scripts and return to them.
///
/// Besides each ``ScriptValue``: live objects, results and lists of the script's stores, which belong to the engine's thread.
///
/// ```swift
/// try engine.register("vaccinate(dog, at)") { (dog: Live<Dog>, at: Date) in dog.vaccinated = at }
/// ```
public protocol ScriptConvertible: SendableMetatype {
    /// The name of the type in messages: `integer`.
    static var scriptTypeName: String { get }
    /// The type in annotations of LuaLS: `integer?`, `string[]`.
    ///
    /// By default the name of the type if that is a type of Lua, otherwise `any`.
    static var scriptAnnotation: String { get }
    /// Converts a Lua value.
    ///
    /// Throws if the value has another type. Converts only what Lua itself converts.
    static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    /// Converts this value to Lua.
    func toScript(in conversion: ScriptConversion) throws -> ScriptOperand
}

extension ScriptConvertible {
    /// The name of the type if that is a type of Lua, otherwise `any`.
    public static var scriptAnnotation: String {
        let known = ["boolean", "integer", "number", "string", "function", "table"]
        return known.contains(scriptTypeName) ? scriptTypeName : "any"
    }
}
