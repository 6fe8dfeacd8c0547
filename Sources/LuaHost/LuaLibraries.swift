/// Which of Lua's standard libraries a state has.
public struct LuaLibraries: OptionSet, Sendable {
    /// The bits, in the order in which `lua` opens its libraries.
    public let rawValue: UInt32
    /// From bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `print`, `pairs`, `pcall` and the like.
    public static let base = LuaLibraries(rawValue: 1)
    /// `require` and `package`.
    public static let package = LuaLibraries(rawValue: 1 << 1)
    /// `coroutine`.
    public static let coroutine = LuaLibraries(rawValue: 1 << 2)
    /// `table`.
    public static let table = LuaLibraries(rawValue: 1 << 3)
    /// `io`.
    public static let io = LuaLibraries(rawValue: 1 << 4)
    /// `os`.
    public static let os = LuaLibraries(rawValue: 1 << 5)
    /// `string`.
    public static let string = LuaLibraries(rawValue: 1 << 6)
    /// `math`.
    public static let math = LuaLibraries(rawValue: 1 << 7)
    /// `utf8`.
    public static let utf8 = LuaLibraries(rawValue: 1 << 8)
    /// `debug`: lets a script look into everything that is Lua.
    public static let debug = LuaLibraries(rawValue: 1 << 9)

    /// All of them.
    public static let all = LuaLibraries(rawValue: (1 << 10) - 1)
    /// Those that reach nothing outside of the state.
    public static let confined: LuaLibraries = [.base, .coroutine, .table, .string, .math, .utf8]
}
