import LuaHost

/// A value that Swift functions can receive from scripts and return to scripts.
///
/// These are all types that conform to ``ScriptValue``, and the live objects, results and collections of the script's
/// stores, which belong to the engine's thread.
///
/// ```swift
/// try engine.register("vaccinate(dog, at)") { (dog: Live<Dog>, at: Date) in dog.vaccinated = at }
/// ```
public protocol ScriptConvertible: SendableMetatype {
    /// The name of the type in messages: `integer`.
    static var scriptTypeName: String { get }
    /// The type in annotations of LuaLS: `integer?`, `string[]`.
    ///
    /// The default is the type's name if it is a Lua type, otherwise `any`.
    static var scriptAnnotation: String { get }
    /// Converts a Lua value.
    ///
    /// Throws if the value has another type. It makes only the conversions that Lua itself makes.
    static func fromScript(_ operand: ScriptOperand, in conversion: ScriptConversion)
        throws(ScriptTypeMismatch) -> Self
    /// Converts this value to Lua.
    func toScript(in conversion: ScriptConversion) throws -> ScriptOperand
}

extension ScriptConvertible {
    /// The type's name if it is a Lua type, otherwise `any`.
    public static var scriptAnnotation: String {
        let known = ["boolean", "integer", "number", "string", "function", "table"]
        return known.contains(scriptTypeName) ? scriptTypeName : "any"
    }
}
