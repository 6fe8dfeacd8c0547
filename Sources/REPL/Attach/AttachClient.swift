import EventLoops
import LineEditing
import ScriptHost
import Synchronization
import SystemCalls

/// A prompt in this terminal for a script of another process.
package final class AttachClient {
    private let socket: LocalSocket
    private let output: AsyncOutput
    private let state = Reply()
    private let compiler = EntryCompiler()
    /// The finished lines of the entry being typed.
    private var unfinished = ""

    /// The maximum wait for completions.
    private static let patience = Duration.milliseconds(300)

    /// Connects to the socket, runs one entry or a prompt, and disconnects.
    ///
    /// Returns the exit code. Call it on the main thread, once per process. Messages go to standard error. `script` is
    /// the name or the number of a script if the process runs several.
    package static func run(socket path: String, entry: String?, script: String? = nil) -> Int32 {
        do throws(LoopError) {
            let socket = try LocalSocket.connect(to: path)
            guard let client = AttachClient(socket) else {
                ProcessServices.writeError("moonpool: too many open files\n")
                return 1
            }
            // Some parents start their children with SIGINT blocked.
            return try Signals.allowingInterrupts { () throws(LoopError) in
                try client.run(entry, script)
            }
        } catch {
            ProcessServices.writeError("moonpool: \(Self.explanation(of: error, path))\n")
            return 1
        }
    }

    static func explanation(of error: LoopError, _ path: String) -> String {
        switch error.number {
        case LoopError.refused: "no process listens at '\(path)': it has ended"
        case LoopError.missing:
            "'\(path)' does not exist; start the process with --attachable"
        case LoopError.notPermitted: "'\(path)' belongs to another user"
        default: "\(error)"
        }
    }

    private init?(_ socket: LocalSocket) {
        guard let output = AsyncOutput() else { return nil }
        self.socket = socket
        self.output = output
    }

    private func run(_ entry: String?, _ script: String?) throws(LoopError) -> Int32 {
        TerminalSignals.watch(wake: output.pipe)
        let (state, output, socket) = (state, output, socket)
        _ = try LoopThread(name: "attached") { _ in
            var reader = AttachFrameReader()
            while !state.hasEnded {
                let bytes = socket.read()
                let frames = bytes.isEmpty ? nil : try? reader.take(bytes)
                for frame in frames ?? [AttachFrame(.end, "the connection has ended")] {
                    switch frame.kind {
                    case .output: output.write(frame.text)
                    case .failed: state.fail()
                    case .prompt: state.idle(frame.text)
                    case .completions: state.complete(Completion(text: frame.text))
                    default: state.end(frame.text)
                    }
                }
                output.pipe.wake()
            }
        }
        let editor = LineEditor(
            output: output, history: .ofUser, keyBindings: TerminalEnvironment.keyBindings)
        editor?.mustStop = { state.hasEnded }
        editor?.completer = { [unowned self] before, _ in complete(before) }
        let columns = "\(editor?.window.columns ?? 80)"
        socket.write(AttachFrame(.hello, script.map { "\(columns) \($0)" } ?? columns).bytes)
        if let entry {
            if waitUntilIdle() { run(entry: entry) }
        } else {
            while waitUntilIdle(), let entry = readEntry(editor) { run(entry: entry) }
        }
        // The reason is read before this side closes the connection, because the reader reports every close as an end.
        let reason = state.reason ?? ""
        socket.end()
        // At a prompt, the user has already seen the errors.
        let failed = state.hasFailed && (entry != nil || editor == nil)
        guard !reason.isEmpty else { return failed ? 1 : 0 }
        output.finishLine()
        ProcessServices.writeError("moonpool: \(reason)\n")
        return 1
    }

    /// Requests completions from the script.
    ///
    /// Returns nil if the script stays busy.
    private func complete(_ before: String) -> Completion? {
        let text = unfinished.isEmpty ? before : unfinished + "\n" + before
        state.forgetCompletion()
        socket.write(AttachFrame(.complete, text).bytes)
        let deadline = ContinuousClock.now + Self.patience
        while state.completion == nil, !state.hasEnded, ContinuousClock.now < deadline {
            _ = output.waitForEvent(milliseconds: 50)
        }
        // Output that arrived in the meantime must still be shown.
        output.pipe.wake()
        return state.completion ?? nil
    }

    private func run(entry: String) {
        state.busy()
        socket.write(AttachFrame(.entry, entry).bytes)
        _ = waitUntilIdle()
    }

    private lazy var plainPrompt = PlainPrompt(output: output)

    private func readEntry(_ editor: LineEditor?) -> String? {
        unfinished = ""
        if TerminalEnvironment.wantsColors {
            let colors = EntryColors(style: Style(isColored: true))
            editor?.painter = { [unowned self] in colors.runs(of: $0, after: unfinished) }
        }
        editor?.corrector = { [unowned self] in EntryIndent.corrected($0, after: unfinished) }
        while !state.hasEnded {
            let prompt = unfinished.isEmpty ? state.prompt : ">> "
            // Entries that a program writes need no prompts.
            let input =
                editor?.readLine(prompt: prompt, initial: (EntryIndent.after(unfinished), ""))
                ?? (TerminalEnvironment.hasTerminalInput
                    ? plainPrompt.readLine(prompt: prompt) : plainPrompt.readLine())
            switch input {
            case .line(let text):
                let entry = unfinished.isEmpty ? text : unfinished + "\n" + text
                if compiler.status(of: entry) == .incomplete {
                    unfinished = entry
                } else {
                    editor?.remember(entry)
                    return entry
                }
            // A line is restored for editing only on request.
            case .interrupted, .earlierLines: unfinished = ""
            case .endOfInput:
                if unfinished.isEmpty || editor == nil { return nil }
                unfinished = ""
            }
        }
        return nil
    }

    /// Waits until the script has answered; Ctrl-C interrupts its code.
    ///
    /// Returns false if the script has ended.
    private func waitUntilIdle() -> Bool {
        var hasReported = false
        var interrupts = 0
        while true {
            if state.hasEnded { return false }
            if state.isIdle { return true }
            switch output.waitForEvent(milliseconds: hasReported ? nil : 1_000) {
            case .woken: break
            case .interrupted:
                interrupts += 1
                if interrupts > 2 { return false }
                output.write("\n")
                socket.write(AttachFrame(.stop).bytes)
            case .timeout:
                hasReported = true
                ProcessServices.writeError(
                    "moonpool: the script is busy; Ctrl-C stops its code, a third Ctrl-C detaches\n"
                )
            }
        }
    }
}

/// The answers of the script.
private final class Reply: Sendable {
    private struct State {
        var isIdle = false
        var prompt = "> "
        var reason: String?
        var hasFailed = false
        /// The answer to the last request for completions; nil until it arrives.
        var completion: Completion??
    }
    private let state = Mutex(State())

    var isIdle: Bool { state.withLock { $0.isIdle } }
    var prompt: String { state.withLock { $0.prompt } }
    var reason: String? { state.withLock { $0.reason } }
    var hasEnded: Bool { reason != nil }
    var completion: Completion?? { state.withLock { $0.completion } }
    func forgetCompletion() { state.withLock { $0.completion = .none } }
    func complete(_ completion: Completion?) {
        state.withLock { $0.completion = .some(completion) }
    }
    /// Whether any entry has failed.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }
    func fail() { state.withLock { $0.hasFailed = true } }
    func busy() { state.withLock { $0.isIdle = false } }
    func idle(_ prompt: String) {
        state.withLock { state in
            state.prompt = prompt
            state.isIdle = true
        }
    }
    /// Records the reason for the end; the first one counts.
    func end(_ reason: String) {
        state.withLock { state in
            if state.reason == nil { state.reason = reason }
        }
    }
}
