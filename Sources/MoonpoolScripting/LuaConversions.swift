import ObjectStore
import StoreBindings

/// Runs the Lua functions of started migrations in the stores of a Swift program.
///
/// While programs of two schema versions use a file, a write of either version converts the changed objects with the
/// functions of the migration. They run in a Lua state of their own, without access to files, programs or the clock.
///
/// ```swift
/// var options = StoreOptions()
/// options.conversions = LuaConversions()
/// let store = try Store(.file("zoo.moonpool"), models: Dog.self, options: options)
/// ```
public struct LuaConversions: StoreConversions {
    /// Creates a provider of engines.
    public init() {}
}

extension LuaConversions: ConversionProvider {
    package func makeEngine(_ code: ConversionCode) throws -> any ConversionEngine {
        try ScriptConversions().makeEngine(code)
    }
}
