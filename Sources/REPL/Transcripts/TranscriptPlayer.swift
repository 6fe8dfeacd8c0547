import EventLoops
import LineEditing
import LuaHost
import ScriptHost
import Synchronization

/// Runs recorded sessions again and compares their output with the recording.
///
/// Each session runs in its own script on a new in-memory store called `store`, without the user's startup file.
package final class TranscriptPlayer {
    /// A step whose output differs from the recording.
    package struct Difference: Sendable {
        /// The entry's line in the file.
        package let line: Int
        /// The entry, the expected and the actual output, formatted for printing.
        package let text: String
    }

    /// The outcome of a session.
    package struct Outcome: Sendable {
        /// The number of entries that ran.
        package var steps = 0
        /// The steps whose output differs.
        package var differences: [Difference] = []
    }

    private final class Shown: Sendable {
        let text = Mutex("")
        func add(_ bytes: [UInt8]) {
            text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }

        /// The lines of output so far.
        var lines: [String] {
            let lines = text.withLock {
                $0.split(separator: "\n", omittingEmptySubsequences: false)
                    .map(TranscriptText.trimmed)
            }
            return TranscriptText.compared(lines)
        }
    }

    private let output: AsyncOutput
    private let shown = Shown()
    private let patience: Duration

    /// Takes over the C library's standard streams permanently; create at most one player per process.
    ///
    /// `patience` is the maximum wait for recorded output of observers and timers. Returns nil if the process has no
    /// file descriptors left.
    package init?(patience: Duration = .seconds(10)) {
        guard let output = AsyncOutput.discarding() else { return nil }
        self.output = output
        self.patience = patience
        StandardStreams.redirect(to: output)
        output.setTap { [shown] in shown.add($0) }
    }

    /// Runs a session; call it on a thread without a script.
    ///
    /// Throws an error of the system if it runs out of threads or file descriptors.
    package func play(_ text: String) throws -> Outcome {
        let transcript = TranscriptText(text)
        let mailbox = Mailbox(waking: output.pipe)
        let write: @Sendable (String) -> Void = { [output] text in
            StandardStreams.flush()
            output.write(text)
        }
        var configuration = ScriptConfiguration(
            name: "repl", usesEnvironment: false, isInteractive: true,
            report: { write(mailbox.session?.value.text(of: $0) ?? $0.text) })
        let (columns, firstEntry) = (transcript.columns, transcript.firstEntry)
        configuration.prepare = { InspectFunction.install(in: $0) { columns } }
        var sessionOutput = SessionOutput(write: write)
        sessionOutput.label = { [output] label in
            StandardStreams.flush()
            output.setLabel(label)
        }
        let shownOutput = sessionOutput
        let script = try Script(configuration) { context in
            let session = Session(
                context, style: .plain, window: (columns, 24), output: shownOutput)
            session.start(ReplOptions(skipsInitFile: true))
            session.evaluator.nextNumber = firstEntry
            mailbox.begin(LoopBound(session, on: context.loop))
            mailbox.idle(prompt: session.prompt, wantsToEnd: false)
            return 0
        }
        script.whenEnded { mailbox.ended(status: $0) }
        defer {
            script.finish()
            _ = script.wait()
        }
        var outcome = Outcome()
        while !mailbox.isIdle, mailbox.status == nil { _ = output.waitForEvent(milliseconds: 50) }
        for step in transcript.steps where mailbox.status == nil {
            outcome.steps += 1
            if let difference = run(step, script, mailbox) {
                outcome.differences.append(difference)
            }
        }
        return outcome
    }

    private func run(_ step: TranscriptText.Step, _ script: Script, _ mailbox: Mailbox)
        -> Difference?
    {
        shown.text.withLock { $0 = "" }
        mailbox.busy()
        let seen = PromptText()
        script.post { _ in
            guard let session = mailbox.session?.value else { return }
            seen.set(session.prompt)
            session.run(step.entry)
            StandardStreams.flush()
            mailbox.idle(prompt: session.prompt, wantsToEnd: session.wantsToEnd)
        }
        // An entry has no time limit if Ctrl-C did not end it in the recording; Ctrl-C ends the program.
        let deadline = ContinuousClock.now + patience
        var mayInterrupt = step.shownBeforeInterrupt != nil
        while !mailbox.isIdle, mailbox.status == nil {
            _ = output.waitForEvent(milliseconds: 50)
            if mayInterrupt, let lines = step.shownBeforeInterrupt,
                TranscriptText.matches(lines, shown.lines) || ContinuousClock.now > deadline,
                script.interrupt()
            {
                mayInterrupt = false
                // At the prompt, the terminal echoes ^C, and a new line follows.
                output.write("\n")
            }
        }
        wait { [shown] in TranscriptText.matches(step.expected, shown.lines) }
        let lines = shown.lines
        var problems: [String] = []
        if !TranscriptText.matches(step.expected, lines) {
            problems += ["expected:"] + step.expected.map { "    \($0)" }
            problems += ["shown:"] + lines.map { "    \($0)" }
        }
        let expectsPrompt = step.prompt.contains(" v")
        if expectsPrompt, seen.text != step.prompt + "> " {
            problems += ["prompt expected: \(step.prompt)>", "prompt shown: \(seen.text)"]
        }
        guard !problems.isEmpty else { return nil }
        let text = ([TranscriptText.text(ofEntry: step.entry)] + problems.map { $0 + "\n" })
        return Difference(line: step.line, text: text.joined())
    }

    private final class PromptText: Sendable {
        private let value = Mutex("")
        var text: String { value.withLock { $0 } }
        func set(_ text: String) { value.withLock { $0 = text } }
    }

    /// Waits for pending output of observers and timers.
    private func wait(until condition: () -> Bool) {
        let deadline = ContinuousClock.now + patience
        while !condition(), ContinuousClock.now < deadline {
            _ = output.waitForEvent(milliseconds: 5)
        }
    }
}
