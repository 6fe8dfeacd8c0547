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
          --sandbox         no files, programs or C modules; 256M of memory
          --allow folder    what a sandboxed script may use all the same
          --read-only       open the files of stores for reading only
          --memory 64M      the most memory that Lua values may take
          --time-limit 5s   the longest that the script, an observer or a timer may run
          --log-level debug what the host does, on standard error (or MOONPOOL_LOG)
          --attachable      let moonpool attach look into the script (=socket: not at the usual place)
          --        stop handling options
          -         stop handling options and execute stdin
        Commands: run, attach, migrate, import, export, backup, check, compact, schema, stats, lint, luals,
          transcript, watch; see moonpool --help

        """

    static let discussion = """
        moonpool                    a prompt on a store in memory
        moonpool zoo.moonpool       a prompt on that store
        moonpool app.realm          a prompt on a read-only copy of a Realm file: --key KEY for an encrypted one,
                                    --rescue for a damaged one, --to FILE to keep the copy as a store
        moonpool script.lua [args]  runs a script; the options of lua come before it:
                                    -e stat, -i, -l module, -v, -E, -W, --, -

        A script can be confined, before its name:
          --sandbox                 it reaches no file, program or C module, and takes 256M of memory
                                    at most; stores in memory, timers and print it has
          --allow FOLDER            its stores, imports, exports and modules may be files in there
          --read-only               it opens the files of stores for reading only
          --memory 64M              Lua values beyond that are the error "not enough memory"
          --time-limit 5s           the script, and later each call of an observer or a timer, may run so
                                    long; who goes on is stopped, and the exit code is 124
          --log-level LEVEL         what the host does, on standard error: debug, info, warning, error;
                                    or the variable MOONPOOL_LOG
          --attachable              moonpool attach PID can look into it; --attachable=SOCKET for a path
                                    of your own
        """
}
