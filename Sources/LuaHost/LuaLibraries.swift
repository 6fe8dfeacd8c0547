/// Which of Lua's standard libraries a state has.
package struct LuaLibraries: OptionSet, Sendable {
    /// The bits, in the order in which `lua` opens its libraries.
    package let rawValue: UInt32
    /// From bits.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `print`, `pairs`, `pcall` and the like.
    package static let base = LuaLibraries(rawValue: 1)
    /// `require` and `package`.
    package static let package = LuaLibraries(rawValue: 1 << 1)
    /// `coroutine`.
    package static let coroutine = LuaLibraries(rawValue: 1 << 2)
    /// `table`.
    package static let table = LuaLibraries(rawValue: 1 << 3)
    /// `io`.
    package static let io = LuaLibraries(rawValue: 1 << 4)
    /// `os`.
    package static let os = LuaLibraries(rawValue: 1 << 5)
    /// `string`.
    package static let string = LuaLibraries(rawValue: 1 << 6)
    /// `math`.
    package static let math = LuaLibraries(rawValue: 1 << 7)
    /// `utf8`.
    package static let utf8 = LuaLibraries(rawValue: 1 << 8)
    /// `debug`: lets a script look into everything that is Lua.
    package static let debug = LuaLibraries(rawValue: 1 << 9)

    /// All of them.
    package static let all = LuaLibraries(rawValue: (1 << 10) - 1)
    /// Those that reach nothing outside of the state.
    package static let confined: LuaLibraries = [.base, .coroutine, .table, .string, .math, .utf8]
}
