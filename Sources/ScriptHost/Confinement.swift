import EventLoops
import LuaHost
import SystemCalls

extension ScriptContext {
    /// The maximum number of stores that a confined script can have open at the same time.
    private static let confinedStores = 16
    /// The maximum size of each file of a confined script's stores, in bytes.
    private static let confinedStoreSize = 1 << 30

    /// Applies the rights and limits of the configuration, before any code of the script runs.
    func confine() {
        let (rights, limits) = (configuration.rights, configuration.limits)
        state.files = rights.files
        storeModule.rights.isReadOnly = rights.opensStoresReadOnly
        if rights.isConfined {
            storeModule.rights.memoryPrefix = name + "/"
            storeModule.rights.maximumCount = Self.confinedStores
            storeModule.rights.maximumSize = Self.confinedStoreSize
        }
        if let output { capture(output) }
        if limits.instructions != nil, let debug = state.globals["debug"].table {
            debug["sethook"] = .nil  // could remove the limit of instructions
        }
        state.setInstructionLimit(limits.instructions)
        state.setTimeLimit(limits.time)
        if let limit = limits.totalTime { state.describeTotalTimeLimit(limit) }
        if configuration.parent == nil { state.account?.beginMeasuring() }
        state.countMemory()
    }

    /// Creates Lua's `loadfile` for the script on the command line if the script itself has none; it loads text only.
    static func makeLoadFile(_ state: LuaState) -> LuaFunction {
        state.makeFunction("loadfile") { call in
            let path = call.isNil(1) ? nil : try call.text(1)
            do {
                let chunk = try chunk(
                    path ?? "/dev/stdin", name: path.map { "@" + $0 } ?? "=stdin", call.state)
                return call.answer(.function(chunk))
            } catch let error as LuaError {
                return call.answer(.nil, .text(error.message))
            } catch let error as ScriptFailure {
                return call.answer(.nil, .text(error.message))
            }
        }
    }

    /// Compiles a text file.
    package static func chunk(_ path: String, name: String, _ state: LuaState) throws -> LuaFunction
    {
        var bytes: [UInt8]
        do {
            bytes = try ProcessServices.readWhole(path)
        } catch {
            throw ScriptFailure(.invalidArgument, "cannot open \(path): \(error.reason)")
        }
        if bytes.first == UInt8(ascii: "#") {
            // A `#!` line is removed as in Lua, except for its line break, so that line numbers do not change.
            bytes.removeFirst(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
        }
        return try state.load(LuaString(bytes: bytes), name: name)
    }

    /// Redirects `print`, `io.write`, `io.stdout` and `io.stderr` to the host.
    private func capture(_ output: ScriptOutput) {
        state.globals["print"] = .function(makePrint { output.standard.write(Array($0.utf8)) })
        guard state.globals["io"].table != nil else { return }
        streams = [
            state.useStream(.output) { output.standard.write($0) },
            state.useStream(.error) { output.errors.write($0) },
        ]
        .compactMap(\.self)
    }

    private func makePrint(_ output: @escaping (String) -> Void) -> LuaFunction {
        state.makeFunction("print") { call in
            let words = try call.rest(from: 1).map { try call.state.describe($0).description }
            output(words.joined(separator: "\t") + "\n")
            return .none
        }
    }

    /// Runs the body while the global `print` writes to `output`, and restores `print` unless the script has replaced
    /// it.
    package func whilePrinting(_ output: @escaping (String) -> Void, _ body: () -> Void) {
        let before = state.globals["print"]
        let function = LuaValue.function(makePrint(output))
        state.globals["print"] = function
        body()
        if state.globals["print"] == function { state.globals["print"] = before }
    }

    /// Clears a stop that was requested during an entry of an attached user.
    package func attachedEntryHasEnded() { _ = signals.takeSpared() }
}

/// The files, stores and functions that a script may use.
public struct ScriptRights: Sendable, Equatable {
    /// The standard libraries of Lua that the script has.
    public var libraries: LuaLibraries
    /// Whether to remove functions that could access resources outside of the script's state, or continue after a stop.
    ///
    /// Then `require` finds only `moonpool`, the script's libraries, and `.lua` files in the folders of `files`. There
    /// is no `io`, `debug`, `dofile`, `loadfile`, `string.dump` or `__gc`; `load` accepts only text, and `os` has only
    /// the time functions. The script does not share in-memory stores with other scripts. A hostile pattern or a huge
    /// `table.move` is stopped like any other code.
    public var isConfined: Bool
    /// The files that its stores, imports and exports may use.
    ///
    /// The libraries `io` and `os`, if the script has them, ignore this property.
    public var files: FileRights
    /// Whether the script opens store files for reading only.
    public var opensStoresReadOnly = false

    /// Creates rights.
    public init(
        libraries: LuaLibraries = .all, isConfined: Bool = false, files: FileRights = .all,
        opensStoresReadOnly: Bool = false
    ) {
        self.libraries = libraries
        self.isConfined = isConfined
        self.files = files
        self.opensStoresReadOnly = opensStoresReadOnly
    }

    /// All rights of a script that `lua` runs.
    public static let all = ScriptRights()
    /// No access outside of the script: no files, no programs, no other state.
    ///
    /// In-memory stores, timers and `print` are available.
    public static let sandboxed = ScriptRights(
        libraries: .confined, isConfined: true, files: .none)

    /// Returns rights without access outside of the script, except for these files.
    public static func sandboxed(files: FileRights) -> ScriptRights {
        ScriptRights(libraries: .confined, isConfined: true, files: files)
    }

    /// The same rights, without the right to write to store files.
    public var readOnly: ScriptRights {
        var rights = self
        rights.opensStoresReadOnly = true
        return rights
    }
}

/// The memory, time and instructions that a script may use.
///
/// A script that reaches its limit of time or instructions is stopped; no `pcall`, coroutine or `__close` handler keeps
/// it running. These limits apply to each run: the main part, each chunk, and each call of an observer, a timer or a
/// Lua function by Swift, including everything that it calls and waits for.
public struct ScriptLimits: Sendable, Equatable {
    /// The resource of a limit.
    public enum Kind: Sendable {
        /// The duration of a run.
        case time
        /// The number of instructions in a run.
        case instructions
        /// The memory of the script.
        case memory
    }

    /// The maximum memory of the script and its workers together in bytes, in addition to the memory of an empty
    /// script.
    ///
    /// Lua values, in-memory stores, open writes, retained results, decoded and encoded JSON, observers and timers
    /// count. The pages of store files do not, because the system can reclaim them. A script that reaches the limit
    /// gets an error with the code `limit_exceeded`, which it can catch.
    public var memory: Int?
    /// The maximum duration of each run.
    ///
    /// Functions written in C and Swift are not interrupted: the script is stopped when they return.
    public var time: Duration?
    /// The maximum lifetime of the script: its main part, all later callbacks, finalizers, and the time that it waits.
    ///
    /// After that time it ends with the code `limit_exceeded`, whether it is running or waiting.
    public var totalTime: Duration?
    /// The maximum number of Lua instructions in each run, counted in steps of 1,000.
    ///
    /// With this limit, code runs at half its speed.
    public var instructions: Int64?

    /// Creates limits; by default, there are none.
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
    /// The default limits for untrusted scripts: 64 MiB and 5 seconds.
    public static let sandboxed = ScriptLimits(memory: 64 << 20, time: .seconds(5))
}
