import LuaHost
import ScriptHost

/// What the program says about itself.
enum Texts {
    /// As `lua` words it from Lua's name on, for programs that look for that.
    static let versionLine = "Moonpool \(ProductVersion.text), \(LuaState.copyright)"

    static let greeting = "Moonpool \(ProductVersion.text), Lua 5.4. Try .help; Ctrl-D ends."

    static let usage = """
        usage: moonpool [options] [script or store [args]]
        Available options are:
          -e stat   execute string 'stat'
          -i        enter interactive mode after executing 'script'
          -l mod    require library 'mod' into global 'mod'
          -l g=mod  require library 'mod' into global 'g'
          -v        show version information
          -E        ignore environment variables
          -W        turn warnings on
          --no-rc   do not run init.lua before the prompt
          --        stop handling options
          -         stop handling options and execute stdin
        Commands: run, migrate, import, export, backup, check, compact, schema, stats; see moonpool --help

        """

    static let discussion = """
        moonpool                    a prompt on a store in memory
        moonpool zoo.moonpool       a prompt on that store
        moonpool script.lua [args]  runs a script; the options of lua come before it:
                                    -e stat, -i, -l module, -v, -E, -W, --, -
        """
}
