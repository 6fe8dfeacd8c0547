import EventLoops
import LineEditing
import ScriptHost
import Synchronization

/// The prompt on the main thread: reads lines, submits entries, handles Ctrl-C.
final class PromptLoop {
    private let script: Script
    private let mailbox: Mailbox
    private let output: AsyncOutput
    private let editor: LineEditor?
    private let compiler = EntryCompiler()
    private let options: ReplOptions
    /// The finished lines of the entry being typed, for completion.
    private var unfinished = ""
    /// Whether the line being typed answers a question.
    private var isAsking = false
    private let matchCounts = MatchCounts()

    /// The maximum wait for the script's thread while a line is edited.
    private static let patience = Duration.milliseconds(300)

    private let style: Style

    init(
        _ script: Script, mailbox: Mailbox, output: AsyncOutput, options: ReplOptions, style: Style
    ) {
        self.script = script
        self.style = style
        self.mailbox = mailbox
        self.output = output
        self.options = options
        editor = LineEditor(
            output: output, history: .ofUser, keyBindings: TerminalEnvironment.keyBindings)
    }

    /// Reads and runs entries until the session ends.
    ///
    /// `willEnd` is called before the script ends, unless an entry ends it. Returns the exit code.
    func run(willEnd: () -> Void) -> Int32 {
        editor?.mustStop = { [mailbox] in mailbox.status != nil }
        // The continuation prompt keeps the width that the prompt had.
        editor?.currentPrompt = { [unowned self] in
            unfinished.isEmpty && !isAsking ? mailbox.prompt : nil
        }
        editor?.corrector = { [unowned self] in EntryIndent.corrected($0, after: unfinished) }
        editor?.completer = { [unowned self] before, _ in complete(before) }
        if style.isColored {
            let colors = EntryColors(style: style)
            editor?.painter = { [unowned self] in colors.runs(of: $0, after: unfinished) }
            editor?.hint = { [unowned self] in hint(for: $0) }
        }
        if let status = waitUntilIdle() { return status }
        if !options.greeting.isEmpty { output.write(options.greeting + "\n") }
        while !mailbox.wantsToEnd, let entry = nextEntry() {
            editor?.remember(entry)
            if !post(entry) { break }
            if let status = waitUntilIdle() { return status }
        }
        if let status = mailbox.status { return status }
        willEnd()
        script.post { [mailbox] _ in mailbox.session?.value.reportOpenWrites() }
        script.finish()
        return script.wait()
    }

    /// Submits an entry.
    ///
    /// Returns false if the script has ended.
    private func post(_ entry: String) -> Bool {
        mailbox.busy()
        let window = editor?.window ?? TerminalEnvironment.window ?? (80, 24)
        return script.post { [mailbox] _ in
            guard let session = mailbox.session?.value else { return }
            session.window = window
            session.run(entry)
            StandardStreams.flush()
            mailbox.idle(
                prompt: session.prompt, wantsToEnd: session.wantsToEnd,
                followUp: session.takeFollowUp())
        }
    }

    /// Returns the next entry: typed by the user, or edited in the editor.
    private func nextEntry() -> String? {
        switch mailbox.takeFollowUp() {
        case .nothing: break
        case .panel: runPanel()
        case .page(let text, let command?): ForegroundProgram.run(command, text, output)
        case .page(let text, nil):
            if !ForegroundProgram.page(text, output) { output.write(text) }
        case .edit(let text):
            switch ForegroundProgram.edit(text, output) {
            case .failed(let message): output.write(message + "\n")
            case .text(let edited):
                let entry = trimmed(edited)
                // Leaving the editor without a change runs nothing.
                if entry.isEmpty || entry == trimmed(text) { break }
                output.write(
                    Style.rendered(entry.split(separator: "\n").map { "  \($0)\n" }.joined()))
                return entry
            }
        }
        return readEntry()
    }

    /// Shows the session's panel in place of the prompt until it is closed.
    private func runPanel() {
        mailbox.busy()
        mailbox.show(nil)
        let unanswered = Unanswered()
        let pipe = output.pipe
        func post(_ body: @escaping @Sendable (Session) -> PanelFrame?) {
            unanswered.record()
            script.post { [mailbox] _ in
                if let session = mailbox.session?.value { mailbox.show(body(session)) }
                unanswered.clear()
                pipe.wake()
            }
        }
        post { [mailbox] session in
            session.panel?.whenChanged { [unowned session] in
                if let frame = session.panelFrame() { mailbox.show(frame) }
            }
            return session.panelFrame()
        }
        PanelTerminal.run(
            output,
            frame: { [mailbox] in
                mailbox.status != nil
                    ? PanelFrame(lines: [], isOver: true) : mailbox.panelFrame
            },
            press: { [script] key in
                // While a handler does not return, the panel cannot receive the first Ctrl-C.
                if key == .interrupt, unanswered.waits { script.interrupt() }
                post { $0.pressInPanel(key) }
            },
            isAnswered: { !unanswered.waits },
            resize: { post { $0.panelFrame() } })
        script.post { [mailbox] _ in
            guard let session = mailbox.session?.value else { return }
            session.closePanel()
            mailbox.idle(prompt: session.prompt, wantsToEnd: session.wantsToEnd)
        }
        _ = waitUntilIdle()
    }

    /// The number of requests that the script's thread has not answered yet.
    private final class Unanswered: Sendable {
        private let count = Mutex(0)
        var waits: Bool { count.withLock { $0 > 0 } }
        func record() { count.withLock { $0 += 1 } }
        func clear() {
            count.withLock { count in
                assert(count > 0, "a request is answered once")
                count -= 1
            }
        }
    }

    private func trimmed(_ text: String) -> String {
        var text = text
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    // MARK: - Reading

    /// Returns the next complete entry, or nil at the end of input.
    private func readEntry() -> String? {
        unfinished = ""
        // The screen rows of the finished lines, if nothing was printed between them.
        var rows = 0
        var interjections = editor?.interjections
        var initial = (before: "", after: "")
        while mailbox.status == nil {
            let prompt = unfinished.isEmpty ? mailbox.prompt : continuation
            let input = read(prompt, initial)
            initial = ("", "")
            switch input {
            case .line(let text):
                let entry = unfinished.isEmpty ? text : unfinished + "\n" + text
                guard compiler.status(of: entry) == .incomplete else { return entry }
                unfinished = entry
                initial = (EntryIndent.after(entry), "")
                rows += editor?.rows(prompt: prompt, line: text) ?? 0
            case .earlierLines(let text):
                initial = (unfinished, "\n" + text)
                unfinished = ""
                if interjections == editor?.interjections { editor?.eraseRows(rows) }
                interjections = editor?.interjections
                rows = 0
            case .interrupted:
                unfinished = ""
                rows = 0
                interjections = editor?.interjections
                stopWhatHangs()
            case .endOfInput:
                if unfinished.isEmpty || editor == nil { return nil }
                unfinished = ""
            }
        }
        return nil
    }

    /// The continuation prompt, as wide as the prompt, so that the lines of an entry are aligned.
    private var continuation: String {
        let width = TerminalText.width(LineEditor.visible(mailbox.prompt))
        return String(repeating: " ", count: max(0, width - 3)) + ">> "
    }

    private lazy var plainPrompt = PlainPrompt(output: output)

    /// Reads a line.
    ///
    /// A terminal that cannot move its cursor gets a prompt without editing.
    private func read(_ prompt: String, _ initial: (before: String, after: String)) -> LineInput {
        if let editor {
            return editor.readLine(
                prompt: prompt, initial: initial, hasEarlierLines: !unfinished.isEmpty)
        }
        return plainPrompt.readLine(prompt: prompt)
    }

    // MARK: - Waiting

    /// Waits until the entry has ended.
    ///
    /// Returns an exit code if the script has ended or must be abandoned.
    private func waitUntilIdle() -> Int32? {
        var interrupts = 0
        var hasWarned = false
        while true {
            if let status = mailbox.status { return status }
            if mailbox.isIdle { return nil }
            if let question = mailbox.takeQuestion() {
                question.answered(answer(to: question.text))
                continue
            }
            switch output.waitForEvent(milliseconds: interrupts > 0 ? 1_000 : nil) {
            case .woken: break
            case .interrupted:
                interrupts += 1
                // The terminal has echoed ^C, so the next output starts a new line.
                output.write("\n")
                if hasWarned { return 130 }
                script.interrupt()
            case .timeout:
                guard !hasWarned else { break }
                hasWarned = true
                output.write("native code is still running; Ctrl-C again ends moonpool\n")
            }
        }
    }

    /// Asks the user a question.
    ///
    /// Returns nil after Ctrl-C and at the end of input.
    private func answer(to question: String) -> String? {
        isAsking = true
        defer { isAsking = false }
        guard let editor else {
            guard case .line(let text) = plainPrompt.readLine(prompt: question) else { return nil }
            return text
        }
        let (painter, completer) = (editor.painter, editor.completer)
        (editor.painter, editor.completer) = (nil, nil)
        defer { (editor.painter, editor.completer) = (painter, completer) }
        guard case .line(let text) = editor.readLine(prompt: question) else { return nil }
        return text
    }

    /// Interrupts an observer or a timer that has not returned within the patience period.
    private func stopWhatHangs() {
        let answer = Answer()
        let pipe = output.pipe
        script.post { _ in
            answer.fill(nil)
            pipe.wake()
        }
        if !wait(for: answer) { script.interrupt() }
        pipe.wake()
    }

    private func wait(for answer: Answer) -> Bool {
        let deadline = ContinuousClock.now + Self.patience
        while !answer.content.isThere, mailbox.status == nil {
            if ContinuousClock.now >= deadline { return false }
            _ = output.waitForEvent(milliseconds: 50)
        }
        return true
    }

    // MARK: - Completion

    private final class Answer: Sendable {
        private let value = Mutex<(isThere: Bool, completion: Completion?)>((false, nil))
        var content: (isThere: Bool, completion: Completion?) { value.withLock { $0 } }
        func fill(_ completion: Completion?) { value.withLock { $0 = (true, completion) } }
    }

    /// Returns the number of matches of an unfinished query, and requests it from the script's thread if necessary.
    private func hint(for before: String) -> String? {
        let text = unfinished.isEmpty ? before : unfinished + "\n" + before
        guard MatchCounts.canCount(text), matchCounts.request(text) else {
            return matchCounts.hint(for: text)
        }
        let pipe = output.pipe
        script.post { [mailbox, matchCounts] _ in
            // Only the newest text matters.
            guard matchCounts.isNewest(text), let session = mailbox.session?.value else { return }
            matchCounts.answer(text, session.matchHint(for: text))
            pipe.wake()
        }
        return nil
    }

    /// Requests completions from the script's thread.
    ///
    /// Returns nil if the thread stays busy.
    private func complete(_ before: String) -> Completion? {
        let text = unfinished.isEmpty ? before : unfinished + "\n" + before
        let answer = Answer()
        let pipe = output.pipe
        script.post { [mailbox] _ in
            if let session = mailbox.session?.value {
                answer.fill(session.completion(of: text))
            }
            pipe.wake()
        }
        _ = wait(for: answer)
        // Output that arrived in the meantime must still be shown.
        pipe.wake()
        return answer.content.completion
    }
}

/// Reports that the prompt text changed while no entry ran, because of writes of observers or other processes.
///
/// Thread: the script's thread.
final class PromptRefresh {
    private unowned let session: Session
    private let show: (String) -> Void
    private var shown: String
    private var timer: LoopTimer?

    /// The delay before a report, which avoids flicker after many commits in a row.
    private static let pause = Duration.milliseconds(50)

    init(_ session: Session, show: @escaping (String) -> Void) {
        self.session = session
        self.show = show
        shown = session.prompt
        session.context.onTurn = { [weak self] in self?.look() }
    }

    private func look() {
        guard timer == nil, !session.isRunning, session.prompt != shown else { return }
        timer = session.context.loop.timer(after: Self.pause, keepsAlive: false) { [weak self] in
            guard let self else { return }
            timer = nil
            guard !session.isRunning else { return }
            shown = session.prompt
            show(shown)
        }
    }
}
