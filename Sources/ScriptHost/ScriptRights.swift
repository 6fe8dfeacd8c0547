import LuaHost

/// The files, stores and functions that a script may use.
public struct ScriptRights: Sendable, Equatable {
    /// Which of Lua's libraries it has.
    public var libraries: LuaLibraries
    /// Whether functions that could reach out of the script's state, or run on after a stop, are removed.
    ///
    /// Then `require` finds `moonpool`, the libraries that it has, and `.lua` files in the folders of `files`; there is no
    /// `io`, no `debug`, no `dofile`, `loadfile`, `string.dump` or `__gc`; `load` takes text only, and `os` tells the time.
    /// Its stores in memory are its own. A hostile pattern or a huge `table.move` is stopped as any other code is.
    public var isConfined: Bool
    /// Which files its stores, imports and exports may be.
    ///
    /// `io` and `os` do not ask, where a script has them.
    public var files: FileRights
    /// Whether it opens the files of stores for reading only.
    public var opensStoresReadOnly = false

    /// Makes rights.
    public init(
        libraries: LuaLibraries = .all, isConfined: Bool = false, files: FileRights = .all,
        opensStoresReadOnly: Bool = false
    ) {
        self.libraries = libraries
        self.isConfined = isConfined
        self.files = files
        self.opensStoresReadOnly = opensStoresReadOnly
    }

    /// Everything that `lua` may.
    public static let all = ScriptRights()
    /// Nothing outside of the script: no files, no programs, no other state.
    ///
    /// Stores in memory, timers and `print` it has.
    public static let sandboxed = ScriptRights(
        libraries: .confined, isConfined: true, files: .none)

    /// Nothing outside of the script but these files.
    public static func sandboxed(files: FileRights) -> ScriptRights {
        ScriptRights(libraries: .confined, isConfined: true, files: files)
    }

    /// The same rights, without that to write to stores' files.
    public var readOnly: ScriptRights {
        var rights = self
        rights.opensStoresReadOnly = true
        return rights
    }
}

/// The memory, time and instructions that a script may use.
///
/// A script that reaches the limit of its time or its instructions is stopped: no `pcall`, coroutine or `__close` handler
/// keeps it going. Limits are for each run: the main part, each chunk, each call of an observer, a timer or a Lua
/// function by Swift, with everything that it calls and waits for.
public struct ScriptLimits: Sendable, Equatable {
    /// The resource of a limit.
    public enum Kind: Sendable {
        /// How long a run takes.
        case time
        /// How many instructions it executes.
        case instructions
        /// How much memory the script holds.
        case memory
    }

    /// The most bytes that the script and its workers may take together, besides what an empty script takes.
    ///
    /// Lua values, stores in memory, open writes, kept results, decoded and encoded JSON, observers and timers count. The
    /// pages of store files do not, because the system can reclaim them. A script that reaches the limit gets an error with the
    /// code `limit_exceeded`, which it may catch.
    public var memory: Int?
    /// How long each run may take.
    ///
    /// Functions written in C and Swift are not cut short: the script is stopped when they return.
    public var time: Duration?
    /// How long the script may live, from its start: its main part, all later callbacks, finalizers, and the time that it waits.
    ///
    /// After that it ends with the code `limit_exceeded`, whatever it does.
    public var totalTime: Duration?
    /// How many instructions of Lua each run may execute, counted by the thousand.
    ///
    /// Code runs at half its speed then.
    public var instructions: Int64?

    /// Makes limits; without an argument there are none.
    public init(
        memory: Int? = nil, time: Duration? = nil, totalTime: Duration? = nil,
        instructions: Int64? = nil
    ) {
        self.totalTime = totalTime
        self.memory = memory
        self.time = time
        self.instructions = instructions
    }

    /// No limits.
    public static let none = ScriptLimits()
    /// The usual limits for untrusted scripts: 64 MiB and 5 seconds.
    public static let sandboxed = ScriptLimits(memory: 64 << 20, time: .seconds(5))
}
