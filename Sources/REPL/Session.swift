import EventLoops
import LineEditing
import LuaHost
import ScriptHost
import StoreBindings

// A session of the prompt as the script's thread sees it: entries come in, text goes out.
//
// What it is for: evaluating an entry, printing what it gives, dot commands, completion, and what the prompt shows. It
// knows no terminal: tests drive it without one.
//
// Threads: everything here belongs to the script's thread.

/// Evaluates entries on a script's thread and prints what comes of them.
package final class Session {
    let context: ScriptContext
    let evaluator: Evaluator
    let screen: ResultScreen
    let output: SessionOutput
    let observers: ObserverWatch
    let modules: ModuleReloader
    private let screenStyle: Style
    /// The window as it was when the entry was given.
    var window: (columns: Int, rows: Int)
    /// Whether every entry tells how long it took.
    var isTiming = false
    /// How results are written.
    var mode = OutputMode.table
    /// What takes the place of the prompt after the entry.
    var panel: (any Panel)?
    /// The earlier version that `store` shows; nil for the newest.
    var visited: VisitedVersion?
    /// The expressions of `.live`.
    var liveExpressions: [LiveExpression] = []
    var lastLiveNumber = 0
    /// The titles of all observers there have been, by number and by name.
    var seenObservers: [String: String] = [:]
    /// Whether `.quit` was given.
    private(set) var wantsToEnd = false
    /// The text that `.edit` wants edited.
    var textToEdit: String?
    /// The values of the last entry that gave any, for `.last`.
    private(set) var lastValues: [LuaValue] = []
    private var resultNumber = 0
    let functionInfo: LuaFunction?
    let parameterName: LuaFunction?
    /// The entries that went well, for `.save`.
    private(set) var script: [SavedScript.Entry] = []
    /// How a script opens the store that the session began with.
    var opening = ""
    /// The function `help` of the prompt.
    var installedHelp = LuaValue.nil
    /// Where what is typed and shown is written besides; nil while nothing is recorded.
    private(set) var transcript: TranscriptRecorder?
    /// Reloads what changes, while that is wanted.
    var automaticReload: AutomaticReload?
    /// Whether the last entry has shown an error.
    private(set) var hasFailed = false
    /// Whether an entry is running.
    private(set) var isRunning = false
    private var promptRefresh: PromptRefresh?
    /// How many calls of handlers that sleep were going on when the entry came.
    private var framesBelow = 0
    /// The tutorial, while it is taken.
    var tutorial: Tutorial?
    /// The newest entry that is no command, for `.edit`.
    private(set) var newestEntry = ""

    /// How many numbered results are kept.
    private static let keptResults = 1_000

    /// A session in a script that is interactive.
    package init(
        _ context: ScriptContext, style: Style, window: (columns: Int, rows: Int) = (80, 24),
        output: SessionOutput
    ) {
        self.context = context
        self.window = window
        self.output = output
        screenStyle = style
        screen = ResultScreen(output)
        evaluator = Evaluator(context.state)
        let debug = context.state.globals["debug"].table
        functionInfo = debug?["getinfo"].function
        parameterName = debug?["getlocal"].function
        observers = ObserverWatch(context, output, style)
        modules = ModuleReloader(context, evaluator)
        installHelp()
    }

    /// Colours, where what is shown goes to the terminal.
    var style: Style { screen.isRedirected ? .plain : screenStyle }

    /// Shows a text.
    func write(_ text: String) { screen.write(text) }

    // MARK: - Entries

    /// Tells from here on when the prompt has become another one while nothing is entered.
    func refreshPrompt(_ show: @escaping (String) -> Void) {
        promptRefresh = PromptRefresh(self, show: show)
    }

    /// Runs one whole entry: a command or Lua.
    package func run(_ entry: String) {
        // An entry that comes while a handler sleeps is nobody's but the user's.
        observers.unlabelled { runUnlabelled(entry) }
    }

    private func runUnlabelled(_ entry: String) {
        if entry.allSatisfy(\.isWhitespace) { return }
        if !entry.hasPrefix(".transcript") { transcript?.typed(entry) }
        isRunning = true
        hasFailed = false
        framesBelow = 0
        while context.state.frame(level: framesBelow) != nil { framesBelow += 1 }
        defer { isRunning = false }
        let clock = ContinuousClock()
        let begin = clock.now
        if runWord(entry) {
            // That was all.
        } else if EntryText.isCommand(entry) {
            runCommand(entry)
        } else {
            newestEntry = entry
            evaluate(entry)
        }
        if isTiming {
            screen.writeToScreen(
                screenStyle.paint(Self.text(of: clock.now - begin), .dim) + "\n")
        }
        if EntryText.isCommand(entry), !hasFailed, !entry.hasPrefix(".save") {
            script.append(SavedScript.Entry(text: entry))
        }
        if !script.isEmpty, !hasFailed {
            script[script.count - 1].isObserved = !context.storeModule.activeTokens.isEmpty
        }
        noteObservers()
        noticeStoreOfUser()
        advanceTutorial(after: entry)
        screen.endPage(window: window)
        transcript?.save()
        modules.noteLoaded()
        automaticReload?.entryHasEnded()
    }

    /// What may stand at the end of a text that is being typed; nil if nothing is known to.
    ///
    /// Runs no Lua code, reads no objects and begins no transaction: the cost depends on the schema and the tables that
    /// are named, never on how much is stored.
    package func completion(of text: String) -> Completion? {
        Completer(session: self).complete(text)
    }

    /// Runs Lua and prints its values or its error.
    ///
    /// True if it went well.
    @discardableResult  // because only commands that go on afterwards ask
    func evaluate(_ entry: String, named name: String? = nil) -> Bool {
        do {
            let values = try evaluator.evaluate(entry, named: name) { body in
                try context.entry { () throws in try body() }
            }
            if name == nil { script.append(SavedScript.Entry(text: entry, values: values.count)) }
            show(values)
            if values == [.nil], let hint = NameHints(self).hint(forNil: entry) {
                screen.writeToScreen(screenStyle.paint(hint, .dim) + "\n")
            }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// Prints values as results of an entry.
    func show(_ values: [LuaValue]) {
        guard !values.isEmpty else { return }
        screen.finishLine()
        let globals = context.state.globals
        globals["_"] = values[0]
        for value in values {
            resultNumber += 1
            globals["_\(resultNumber)"] = value
            if resultNumber > Self.keptResults {
                globals["_\(resultNumber - Self.keptResults)"] = .nil
            }
        }
        lastValues = values
        print(values, isGenerous: screen.isRedirected)
        screen.endOnce()
    }

    /// Prints an error.
    func fail(_ error: any Error) {
        hasFailed = true
        screen.finishLine()
        var text = errorText
        text.current = evaluator.newestName
        text.framesBelow = framesBelow
        screen.writeToScreen(text.text(of: error) + "\n")
        if let visitHint, "\(error)".contains("frozen version") {
            screen.writeToScreen(screenStyle.paint(visitHint, .dim) + "\n")
        }
    }

    /// Prints an error of a command, in one line.
    func fail(_ message: String) {
        hasFailed = true
        screen.writeToScreen(screenStyle.paint(message, .error) + "\n")
    }

    /// Ends the session after this entry.
    func end() { wantsToEnd = true }

    /// Records from here on into a file, or no more.
    func record(to recorder: TranscriptRecorder?) {
        transcript = recorder
        guard let recorder else {
            screen.didPage = { _ in }
            return output.tap(nil)
        }
        output.tap { recorder.shown($0) }
        screen.didPage = { recorder.shown($0) }
    }

    /// What is left to do for the thread that has the terminal, once.
    func takeFollowUp() -> Mailbox.FollowUp {
        defer { textToEdit = nil }
        if panel != nil { return .panel }
        if let textToEdit { return .edit(textToEdit) }
        return screen.takePage().map { .page($0.text, command: $0.command) } ?? .nothing
    }

    /// Runs work of a command that Ctrl-C can stop wherever it asks `checkStopping` or waits.
    func stoppable(_ body: @escaping () throws -> Void) throws {
        var failure: (any Error)?
        let function = context.state.makeFunction("moonpool") { _ in
            do { try body() } catch { failure = error }
            return .none
        }
        _ = try context.entry { () throws in try function.call([]) }
        if let failure { throw failure }
    }
}
