import EventLoops
import LineEditing
import LuaHost
import Reference
import ScriptHost
import SystemCalls

// The prompt at a terminal: `moonpool` and `moonpool STORE`.
//
// The main thread edits lines and handles Ctrl-C. The session lives on a script's thread: the main thread posts
// complete entries to it and waits for their end or for Ctrl-C. All output goes through one `AsyncOutput`, which shows
// the output of observers and timers above the line being typed.

/// Runs the prompt.
package enum ReplSession {
    /// Runs the prompt until it ends, and returns the exit code of the process.
    ///
    /// Call it on the main thread, at a terminal, once per process. `main` runs the command line on the script's thread
    /// before the first prompt. It reports its own errors; the session continues in any case.
    package static func run(
        _ options: ReplOptions, main: @escaping @Sendable (ScriptContext) throws -> Bool
    ) -> Int32 {
        guard let output = AsyncOutput() else {
            ProcessServices.writeError("moonpool: too many open files\n")
            return 1
        }
        StandardStreams.redirect(to: output)
        TerminalSignals.watch(wake: output.pipe)
        let style = Style(isColored: TerminalEnvironment.wantsColors)
        let mailbox = Mailbox(waking: output.pipe)
        // Buffered output of Lua's own streams comes first.
        let write: @Sendable (String) -> Void = { text in
            StandardStreams.flush()
            output.write(text)
        }
        let canDraw = TerminalEnvironment.canDraw
        var sessionOutput = SessionOutput(write: write)
        sessionOutput.finishLine = {
            StandardStreams.flush()
            output.finishLine()
        }
        sessionOutput.label = { label in
            StandardStreams.flush()
            output.setLabel(label)
        }
        if canDraw { sessionOutput.footer = { output.setFooter($0) } }
        sessionOutput.keepFooter = { output.keepFooter() }
        sessionOutput.tap = { tap in
            StandardStreams.flush()
            guard let tap else { return output.setTap(nil) }
            output.setTap { tap(ResultLabel.removing(from: String(decoding: $0, as: UTF8.self))) }
        }
        sessionOutput.window = { TerminalEnvironment.window }
        sessionOutput.hasPrograms = canDraw
        sessionOutput.hasPanels = canDraw
        sessionOutput.labelsResults = style.isColored
        sessionOutput.ask = { mailbox.ask($0, $1) }
        let shown = sessionOutput
        var configuration = ScriptConfiguration(
            name: "repl", usesEnvironment: options.usesEnvironment, isInteractive: true,
            report: { report in
                guard let session = mailbox.session?.value else { return shown.write(report.text) }
                session.observers.unlabelled { shown.write(session.text(of: report)) }
            })
        configuration.prepare = {
            InspectFunction.install(in: $0) { TerminalEnvironment.window?.columns ?? 80 }
        }
        options.host.apply(to: &configuration, store: options.storePath)
        do {
            let server =
                options.host.isAttachable
                ? try AttachServer(at: options.host.attachSocket) : nil
            let studio = StudioProcess(write: write)
            let script = try Script(configuration) { context in
                let session = Session(context, style: style, output: shown)
                session.studio = studio
                mailbox.begin(LoopBound(session, on: context.loop))
                defer { mailbox.idle(prompt: session.prompt, wantsToEnd: session.wantsToEnd) }
                session.start(options)
                _ = try main(context)
                session.refreshPrompt { mailbox.refresh(prompt: $0) }
                return 0
            }
            script.whenEnded { mailbox.ended(status: $0) }
            studio.begin(script)
            defer { studio.end() }
            try server?.serve([("repl", script)])
            defer { server?.end() }
            // The transcript is complete when no thread can add to it.
            defer { output.setTap(nil) }
            return PromptLoop(
                script, mailbox: mailbox, output: output, options: options, style: style
            ).run(willEnd: studio.end)
        } catch {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 1
        }
    }
}

extension Session {
    /// Opens the store of the command line and runs the user's startup file.
    ///
    /// If the store cannot be opened, the session ends.
    func start(_ options: ReplOptions) {
        if let open = options.openStore {
            do {
                try open(context)
                if let code = options.openingCode { steps.append(SessionStep("code", code)) }
            } catch {
                context.exit(status: 1)
                return
            }
        } else {
            guard openStore(options) else { return }
        }
        runInitFile(options)
    }

    /// Opens the store at a path, or an in-memory store; returns false after an error, which ends the session.
    private func openStore(_ options: ReplOptions) -> Bool {
        do throws(LuaError) {
            var text = "{ in_memory = \"store\" }"
            if let path = options.storePath {
                try options.host.open(path, in: context)
                let version = options.host.schemaVersion
                text = LuaLiteral.string(path)
                if version != 0 { text = "{ path = \(text), schema_version = \(version) }" }
            } else {
                let table = context.state.makeTable()
                table["in_memory"] = "store"
                let open = try context.module.get("open")
                context.state.globals["store"] =
                    try context.state.call(open, [.table(table)]).first ?? .nil
            }
            steps.append(SessionStep("code", "store = moonpool.open(\(text))"))
        } catch {
            ProcessServices.writeError("moonpool: \(error.message)\n")
            context.exit(status: 1)
            return false
        }
        return true
    }

    private func runInitFile(_ options: ReplOptions) {
        guard !options.skipsInitFile,
            let folder = TerminalEnvironment.folder("XDG_CONFIG_HOME", fallback: ".config")
        else { return }
        let path = folder + "/moonpool/init.lua"
        do {
            let bytes = try ProcessServices.readWhole(path, limit: 16 << 20)
            evaluate(String(decoding: bytes, as: UTF8.self), named: path)
        } catch {
            if !error.isMissing { write("cannot read '\(path)': \(error.reason)\n") }
        }
    }
}

/// Options of a prompt session.
package struct ReplOptions: Sendable {
    /// The path of the store; nil for an in-memory store named `store`.
    package var storePath: String?
    /// Opens the global `store` instead of the session; prints its errors before it throws them.
    package var openStore: (@Sendable (ScriptContext) throws -> Void)?
    /// The Lua code that does the same as ``openStore``, for saved sessions.
    package var openingCode: String?
    /// Whether to skip the user's `init.lua`.
    package var skipsInitFile: Bool
    /// Whether environment variables such as `LUA_PATH` apply.
    package var usesEnvironment: Bool
    /// Restrictions and logging of the script host.
    package var host: HostOptions
    /// The text before the first prompt; empty for none.
    package var greeting: String

    /// Creates options.
    package init(
        storePath: String? = nil, skipsInitFile: Bool = false, usesEnvironment: Bool = true,
        host: HostOptions = HostOptions(), greeting: String = ""
    ) {
        self.storePath = storePath
        self.skipsInitFile = skipsInitFile
        self.usesEnvironment = usesEnvironment
        self.host = host
        self.greeting = greeting
    }
}
