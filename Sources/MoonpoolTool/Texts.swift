import EventLoops
import LuaHost
import Reference
import ScriptHost

/// The texts that the program prints about itself.
enum Texts {
    /// The version.
    ///
    /// The part that starts with the name of Lua equals the output of `lua -v`, because programs search for this text.
    static let versionLine = "Moonpool \(ProductVersion.text), \(LuaState.copyright)"

    static let greeting = "Moonpool \(ProductVersion.text), Lua 5.4. Try .help; Ctrl-D ends."

    private typealias Row = (term: String, text: String)

    private static let forms: [Row] = [
        ("moonpool", "open a prompt on an in-memory store"),
        ("moonpool zoo.moonpool", "open a prompt on a store file"),
        (
            "moonpool app.realm",
            """
            open a prompt on a read-only copy of a Realm file; --key KEY for an encrypted file, --rescue for a damaged one, \
            --to FILE to keep the copy as a store
            """
        ),
        ("moonpool script.lua [args]", "run a script"),
        (
            "moonpool zoo.moonpool script.lua [args]",
            "run a script with the store open; -e CODE instead of the script runs code"
        ),
    ]

    private static let luaOptions: [Row] = [
        ("-e stat", "execute string 'stat'"),
        ("-i", "enter interactive mode after executing 'script'"),
        ("-l mod", "require library 'mod' into global 'mod'"),
        ("-l g=mod", "require library 'mod' into global 'g'"),
        ("-v", "show version information"),
        ("-E", "ignore environment variables"),
        ("-W", "turn warnings on"),
        ("--no-rc", "do not run init.lua before the prompt"),
    ]

    private static let hostOptions: [Row] = [
        (
            "--sandbox",
            "deny access to files, programs and C modules; limit memory to 256M. In-memory stores, timers and print work"
        ),
        (
            "--allow FOLDER",
            "allow a sandboxed script to use the stores, data files and modules in this folder"
        ),
        ("--read-only", "open store files read-only"),
        ("--schema-version N", "open the store of the command line with this schema version"),
        (
            "--memory SIZE",
            "memory limit, such as 64M; beyond it, the error limit_exceeded. The process takes at most a quarter more"
        ),
        (
            "--memory-hard SIZE",
            "memory limit that the system keeps; beyond it, moonpool exits with 1. Without --memory, that limit is a quarter lower"
        ),
        (
            "--time-limit TIME",
            """
            time limit for the script and for each later callback, such as 5s; on timeout the script is stopped and \
            moonpool exits with 124
            """
        ),
        (
            "--total-time-limit TIME",
            "total time limit for the script, including its callbacks and waits, such as 60s"
        ),
        (
            "--log-level LEVEL",
            """
            log host events to standard error: debug, info, warning or error; also set by the variable MOONPOOL_LOG
            """
        ),
        (
            "--attachable[=SOCKET]",
            "allow moonpool attach to open a prompt in the script, through a socket at a default or a given path"
        ),
    ]

    private static let endOptions: [Row] = [
        ("--", "stop handling options"),
        ("-", "stop handling options and execute stdin"),
    ]

    /// The text below an error in a command line with the syntax of `lua`.
    static var usage: String {
        let wrap = wrap(2)
        var lines = [
            "usage: moonpool [options] [script or store [args]]", "Available options are:",
        ]
        lines += wrap.definitions(luaOptions + hostOptions + endOptions, indent: "  ")
        lines += wrap.lines(
            """
            Commands: run, attach, migrate, import, export, backup, check, compact, schema, stats, lint, luals, \
            transcript, watch, publish, follow; see moonpool --help
            """, hanging: "  ")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The description in `moonpool --help`.
    static var discussion: String {
        let wrap = wrap(1)
        var lines = wrap.definitions(forms)
        lines += ["", "Options before a script:"]
        lines += wrap.definitions(luaOptions + hostOptions + endOptions, indent: "  ")
        return lines.joined(separator: "\n")
    }

    /// Returns a wrapper with the width of the terminal, but at most 100 columns.
    private static func wrap(_ descriptor: Int32) -> TextWrap {
        TextWrap(columns: min(HelpLines(descriptor: descriptor).columns - 1, 100))
    }
}
