/// The standard libraries of Lua that a state has.
public struct LuaLibraries: OptionSet, Sendable {
    /// The bits, in the order in which `lua` opens its libraries.
    public let rawValue: UInt32
    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The base library: `print`, `pairs`, `pcall` and other global functions.
    public static let base = LuaLibraries(rawValue: 1)
    /// The library `package`, with `require`.
    public static let package = LuaLibraries(rawValue: 1 << 1)
    /// The library `coroutine`.
    public static let coroutine = LuaLibraries(rawValue: 1 << 2)
    /// The library `table`.
    public static let table = LuaLibraries(rawValue: 1 << 3)
    /// The library `io`.
    public static let io = LuaLibraries(rawValue: 1 << 4)
    /// The library `os`.
    public static let os = LuaLibraries(rawValue: 1 << 5)
    /// The library `string`.
    public static let string = LuaLibraries(rawValue: 1 << 6)
    /// The library `math`.
    public static let math = LuaLibraries(rawValue: 1 << 7)
    /// The library `utf8`.
    public static let utf8 = LuaLibraries(rawValue: 1 << 8)
    /// The library `debug`, which gives a script access to all internals of Lua.
    public static let debug = LuaLibraries(rawValue: 1 << 9)

    /// All libraries.
    public static let all = LuaLibraries(rawValue: (1 << 10) - 1)
    /// The libraries without access to resources outside of the state.
    public static let confined: LuaLibraries = [.base, .coroutine, .table, .string, .math, .utf8]
}
