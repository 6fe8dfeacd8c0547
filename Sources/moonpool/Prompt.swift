import EventLoops
import LuaHost
import ScriptHost

/// The prompt at a terminal.
enum Prompt {
    static func run(_ line: LuaCommandLine, store: String?) -> Int32 { 0 }
}
