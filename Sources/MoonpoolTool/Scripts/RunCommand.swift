import ArgumentParser
import EventLoops
import LuaHost
import REPL
import ScriptHost
import Synchronization
import SystemCalls

/// Runs a command line in the syntax of `lua`: a script, standard input, or a prompt.
enum RunCommand {
    static func run(_ line: LuaCommandLine) throws(LuaCommandLine.UsageError) -> Int32 {
        var line = line
        var store: String?
        var realm: RealmPrompt?
        var data: DataFile?
        if case .file(let path) = line.source, RealmCopy.isRealm(path) {
            realm = RealmPrompt(path, line.arguments)
            line.arguments = []
            line.source = .none
            store = path
        } else if case .file(let path) = line.source, StoreFile.isStore(path) {
            // The argument is a store instead of a script; options and a script can follow.
            store = path
            try line.readAfterSource()
        } else if case .file(let path) = line.source, let found = DataFile(path) {
            data = found
            store = path
            try line.readAfterSource()
        } else if case .file(let path) = line.source, let error = unknownCommand(path) {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 64
        }
        line.host.limitProcess()
        let hasNothingElse =
            line.source == .none && !line.hasChunks && (store != nil || !line.showsVersion)
        // Output can go to a pipe, as in `moonpool | tee log`, so only the input is checked.
        let isAtTerminal = Descriptor.isTerminal(0)
        if isAtTerminal, line.isInteractive || hasNothingElse {
            if let store, data == nil, realm == nil, !NewStore.isWanted(at: store) { return 1 }
            return Prompt.run(line, store: store, realm: realm, data: data)
        }
        if line.showsVersion { ProcessServices.writeOutput(Texts.versionLine + "\n") }
        let name = ScriptRunner.name(of: line)
        var configuration = ScriptConfiguration(
            name: name, usesEnvironment: !line.ignoresEnvironment, endsProcess: true,
            programName: line.words.first ?? "moonpool")
        configuration.prepare = { InspectFunction.install(in: $0) }
        line.host.apply(to: &configuration, store: store)
        let final = line
        let path = store
        let copy = realm
        let file = data
        return ScriptRunner.run(
            host: line.host,
            [
                (
                    configuration,
                    { @Sendable context in
                        if let copy {
                            try copy.open(in: context)
                        } else if let file {
                            try file.open(in: context)
                        } else if let path {
                            try openStore(path, final.host, in: context)
                        }
                        let status = try runProgram(final, in: context)
                        if status != 0 { return status }
                        if final.isInteractive { return try LuaPlainPrompt(context).run() ? 0 : 1 }
                        guard hasNothingElse else { return 0 }
                        return try LuaProgram(final, in: context).runStandardInput() ? 0 : 1
                    }
                )
            ])
    }

    /// Returns the error for an argument that is not a file or a command, but similar to a command.
    private static func unknownCommand(_ word: String) -> String? {
        guard !word.contains("/"), !word.contains("."), ProcessServices.size(of: word) == nil,
            let near = MoonpoolCommand.nearest(to: word)
        else { return nil }
        return "there is no file or command '\(word)'; did you mean 'moonpool \(near)'?"
    }

    /// Runs `LUA_INIT`, the `-e` and `-l` options, and the script.
    ///
    /// A file with data is never run, because its content can come from anyone.
    static func runProgram(_ line: LuaCommandLine, in context: ScriptContext) throws -> Int32 {
        if case .file(let path) = line.source,
            RealmCopy.isRealm(path) || StoreFile.isStore(path) || DataFile(path) != nil
        {
            ProcessServices.writeError("moonpool: '\(path)' contains data, not a script\n")
            return 1
        }
        return try LuaProgram(line, in: context).run() ? 0 : 1
    }

    /// Opens the store of the command line as the global `store`.
    static func openStore(
        _ path: String, _ options: HostOptions, in context: ScriptContext
    ) throws {
        do throws(LuaError) {
            try options.open(path, in: context)
        } catch {
            ProcessServices.writeError("moonpool: \(error.message)\n")
            throw error
        }
    }
}

/// The command `moonpool run a.lua b.lua`: several scripts at the same time, each on its own thread.
struct RunScripts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run several scripts at the same time, each on its own thread.",
        discussion: """
            Scripts that open the same path, or the same name in memory, share the store. The exit code is the first one \
            that is not 0, in the order of the scripts. The output of each print call stays together. Ctrl-C stops all scripts. \
            Limits of memory and time apply to each script separately.
            """)

    @Flag(help: "Prefix each printed line with the name of its script, such as [zoo].")
    var labels = false

    @OptionGroup(title: "Restricting options") var host: HostOptionGroup

    @Argument(help: "The scripts.", completion: .file(extensions: ["lua"]))
    var scripts: [String]

    func run() throws {
        let options = try host.options
        let lines = try scripts.map { path throws in
            try LuaCommandLine(["moonpool", "--", path])
        }
        options.limitProcess()
        ProcessServices.exit(
            ScriptRunner.run(host: options, lines.map { job($0, options) }))
    }

    private func job(_ line: LuaCommandLine, _ options: HostOptions) -> ScriptRunner.Job {
        var configuration = ScriptConfiguration(name: ScriptRunner.name(of: line))
        configuration.prepare = { InspectFunction.install(in: $0) }
        options.apply(to: &configuration)
        if labels { configuration.outputLabel = configuration.name }
        return (
            configuration,
            { @Sendable context in
                context.usePrintInOnePiece()
                return try RunCommand.runProgram(line, in: context)
            }
        )
    }
}

/// Runs scripts on their own threads while the main thread waits for them and for Ctrl-C.
enum ScriptRunner {
    typealias Job = (
        configuration: ScriptConfiguration, main: @Sendable (ScriptContext) throws -> Int32
    )

    /// Runs all scripts until they end.
    ///
    /// Returns the first exit code that is not 0, in the given order. With `rollingBackOnTermination`, SIGTERM
    /// interrupts the scripts like Ctrl-C. If `host` permits it, other processes of the same user can attach to the
    /// scripts.
    static func run(
        host: HostOptions = HostOptions(), _ jobs: [Job], rollingBackOnTermination: Bool = false,
        watch: (EventLoop) -> AnyObject? = { _ in nil }
    ) -> Int32 {
        do throws(LoopError) {
            let loop = try EventLoop()
            loop.attach()
            let interrupts = try InterruptPolicy(on: loop)
            if rollingBackOnTermination {
                try interrupts.includeTermination { terminated.withLock { $0 = true } }
            }
            let server = host.isAttachable ? try AttachServer(at: host.attachSocket) : nil
            var scripts: [Script] = []
            for job in jobs {
                let hold = loop.hold()
                let script = try Script(job.configuration, main: job.main)
                script.whenEnded { _ in hold.release() }
                scripts.append(script)
                interrupts.add(script)
            }
            try server?.serve(zip(jobs, scripts).map { ($0.configuration.name, $1) })
            let watch = watch(loop)
            withExtendedLifetime(watch) { loop.run() }
            server?.end()
            let statuses = scripts.map { $0.wait() }
            interrupts.end()
            return statuses.first { $0 != 0 } ?? 0
        } catch {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 1
        }
    }

    private static let terminated = Mutex(false)

    /// Whether the process has received SIGTERM.
    static var isTerminated: Bool { terminated.withLock { $0 } }

    /// Returns the name of a script: its file name without folder and extension.
    static func name(of line: LuaCommandLine) -> String {
        guard case .file(let path) = line.source else { return "script" }
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return file.hasSuffix(".lua") ? String(file.dropLast(4)) : file
    }
}

/// Handles Ctrl-C while scripts run: the first one interrupts the scripts, and a second one within a second ends the
/// process.
///
/// A long-running C function cannot be interrupted. After one second, a message reports that native code is still
/// running, and from then on the next Ctrl-C ends the process.
final class InterruptPolicy {
    private let loop: EventLoop
    private var watch: SignalWatch?
    private var termination: SignalWatch?
    private var last: Duration?
    private var notice: LoopTimer?
    private var isStuck = false
    private var scripts: [Script] = []
    private static let signal: Int32 = 2  // SIGINT
    private static let status: Int32 = 130

    /// Installs the handler.
    ///
    /// Create it before the first script starts, so that Ctrl-C never ends the process without cleanup.
    init(on loop: EventLoop) throws(LoopError) {
        self.loop = loop
        watch = try SignalWatch(Self.signal, on: loop) { [weak self] in self?.interrupt() }
    }

    /// Makes SIGTERM interrupt the scripts like Ctrl-C, after calling the handler.
    func includeTermination(_ handler: @escaping () -> Void) throws(LoopError) {
        termination = try SignalWatch(15, on: loop) { [weak self] in
            handler()
            self?.interrupt()
        }
    }

    /// Adds a script that Ctrl-C interrupts.
    func add(_ script: Script) { scripts.append(script) }

    /// Restores the default effect of Ctrl-C.
    func end() {
        watch?.cancel()
        termination?.cancel()
        notice?.cancel()
    }

    private func interrupt() {
        let now = loop.clock.now()
        if isStuck || last.map({ now - $0 < .seconds(1) }) == true {
            ProcessServices.exitNow(Self.status)
        }
        last = now
        for script in scripts { script.interrupt() }
        notice?.cancel()
        notice = loop.timer(after: .seconds(1), keepsAlive: false) { [weak self] in
            self?.isStuck = true
            ProcessServices.writeError(
                "moonpool: native code is still running; press Ctrl-C again to end the process\n")
        }
    }
}
