import Charts
import EventLoops
import LineEditing
import LuaHost
import ScriptHost
import StoreBindings

// A prompt session on the script's thread: evaluates entries, prints results, runs dot commands, completes, and
// computes the prompt text. It does not depend on a terminal, so tests can drive it directly.
//
// A session is confined to the script's thread.

/// Evaluates entries on a script's thread and prints their results.
package final class Session {
    let context: ScriptContext
    let evaluator: Evaluator
    let screen: ResultScreen
    let output: SessionOutput
    let observers: ObserverWatch
    /// The module `moonpool.prompt` of the script, with the dot commands.
    let module: PromptModule
    private let screenStyle: Style
    /// The size of the window when the entry was submitted.
    var window: (columns: Int, rows: Int)
    /// Whether to print the duration of each entry.
    var isTiming = false
    /// The output mode of results.
    var mode = OutputMode.table
    /// The panel that replaces the prompt after the entry.
    var panel: LuaPanel?
    /// The earlier version that `store` shows; nil for the newest.
    var visited: VisitedVersion?
    /// What a command does after its function has returned, such as running the entries of a file.
    var afterCommand: (() throws -> Void)?
    /// The titles of all observers so far, by number and by name.
    var seenObservers: [String: String] = [:]
    private var hasEnded = false
    /// Whether the session is about to end.
    var wantsToEnd: Bool { hasEnded || context.isExiting }
    /// The text to open in the editor for `.edit`.
    var textToEdit: String?
    /// The values of the last entry that returned any, for `.last`.
    private(set) var lastValues: [LuaValue] = []
    private var resultNumber = 0
    /// The global function `help` that the session has installed.
    var installedHelp = LuaValue.nil
    /// Returns the frames of the last error; nil in a script that another process runs.
    let errorFrames: LuaFunction?
    let functionInfo: LuaFunction?
    /// The entries of the session, for `.save`.
    var steps: [SessionStep] = []
    /// The recorder of the transcript; nil while nothing is recorded.
    private(set) var transcript: (any SessionRecorder)?
    /// What runs after the command: a function, and one that receives whether it has succeeded.
    var laterRuns: [(LuaFunction, LuaFunction)] = []
    /// Opens the studio on the session; nil if the session cannot.
    var studio: StudioProcess?
    /// The number of loaded modules, at first those of Lua and `moonpool`.
    var moduleCount = 11
    /// Whether the last entry failed.
    private(set) var hasFailed = false
    /// Whether the user has allowed the last entry to lose data.
    var hasConfirmedLoss = false
    /// Whether an entry is running.
    private(set) var isRunning = false
    private var promptRefresh: PromptRefresh?
    /// The number of stack frames of sleeping handlers below the entry.
    private var framesBelow = 0
    /// What the prompt's own files keep for this session, by the name of the file.
    var fileStates: [String: LuaTable] = [:]
    /// The functions that receive each entry, by name.
    var afterEntry: [String: LuaFunction] = [:]
    /// The last Lua entry, for `.edit`.
    private(set) var newestEntry = ""

    /// The number of numbered results to keep.
    private static let keptResults = 1_000

    /// Creates a session in an interactive script.
    ///
    /// Only one session of a script can label the output of its observers and timers: the last with `watchesCalls`.
    package init(
        _ context: ScriptContext, style: Style, window: (columns: Int, rows: Int) = (80, 24),
        output: SessionOutput, watchesCalls: Bool = true
    ) {
        self.context = context
        self.window = window
        self.output = output
        screenStyle = style
        screen = ResultScreen(output)
        evaluator = Evaluator(context.state)
        functionInfo = context.state.globals["debug"].table?["getinfo"].function
        let errors =
            context.configuration.isInteractive
            ? try? context.state.runtimeFile("prompt/errors").table : nil
        if let collect = errors?["collect"].function { context.state.observeErrors(collect) }
        errorFrames = errors?["frames"].function
        observers = ObserverWatch(output, style)
        if watchesCalls { observers.watch(context) }
        module = PromptModule.attached(to: context)
        module.install(for: self)
        installHelp()
        confirmLosses()
        recordModules()
        context.storeModule.chunkSource = { [evaluator] in evaluator.source(named: $0) }
    }

    /// The style of output: plain if output is redirected to text.
    var style: Style {
        screen.isPicture
            ? Style(isColored: true) : screen.isRedirected ? .plain : screenStyle
    }

    /// Writes output of an entry.
    func write(_ text: String) { screen.write(text) }

    // MARK: - Entries

    /// Calls a function when the prompt text changes while no entry runs.
    func refreshPrompt(_ show: @escaping (String) -> Void) {
        promptRefresh = PromptRefresh(self, show: show)
    }

    /// Runs one complete entry: a command or Lua.
    package func run(_ entry: String) {
        // An entry that runs while a handler sleeps must not have the label of the handler.
        module.using(self) { observers.unlabelled { runUnlabelled(entry) } }
    }

    private func runUnlabelled(_ entry: String) {
        if entry.allSatisfy(\.isWhitespace) { return }
        if !entry.hasPrefix(".transcript") {
            let shown = prompt.unicodeScalars.filter { $0 != LineEditor.promptEscape }
            transcript?.typed(entry, prompt: String(String.UnicodeScalarView(shown)))
        }
        isRunning = true
        hasFailed = false
        framesBelow = 0
        while context.state.frame(level: framesBelow) != nil { framesBelow += 1 }
        defer { isRunning = false }
        let clock = ContinuousClock()
        let begin = clock.now
        if EntryText.isCommand(entry) {
            runCommand(entry)
        } else if runWord(entry.trimmed) {
            // A bare `exit`, `quit` or `help` that is not a variable.
        } else {
            newestEntry = entry
            evaluate(entry)
        }
        if isTiming {
            screen.writeToScreen(
                screenStyle.paint(Self.text(of: clock.now - begin), .dim) + "\n")
        }
        recordObservers()
        noticeStoreOfUser()
        recordModules()
        for (_, function) in afterEntry.sorted(by: { $0.key < $1.key }) {
            do {
                _ = try context.entry { () throws in try function.call([.text(entry)]) }
            } catch {
                fail(error)
            }
        }
        screen.endEntry(columns: window.columns)
        screen.endPage(window: window)
        transcript?.save()
    }

    /// Runs Lua and prints its values or its error.
    ///
    /// Returns whether it succeeded.
    @discardableResult  // Only commands that continue afterward need the result.
    func evaluate(_ entry: String, named name: String? = nil) -> Bool {
        hasConfirmedLoss = false
        do {
            let values = try evaluator.evaluate(entry, named: name) { body in
                try context.entry { () throws in try body() }
            }
            let first = nextResult
            show(values)
            if name == nil {
                steps.append(
                    SessionStep(
                        hasConfirmedLoss ? "forced" : "entry", entry,
                        results: results(from: first)))
            }
            if values == [.nil], let hint = hint(forNil: entry) {
                screen.writeToScreen(screenStyle.paint(hint, .dim) + "\n")
            }
            return true
        } catch {
            if name == nil { steps.append(SessionStep("failed", entry)) }
            fail(error)
            return false
        }
    }

    /// The number of the next result.
    var nextResult: Int { resultNumber + 1 }

    /// Returns the numbers of the results since `first`; nil if there were none.
    func results(from first: Int) -> ClosedRange<Int>? {
        first <= resultNumber ? first...resultNumber : nil
    }

    /// Runs `exit`, `quit` or `help` as a command, unless the user has a variable with this name.
    private func runWord(_ entry: String) -> Bool {
        let word = ["exit()", "quit()"].contains(entry) ? String(entry.dropLast(2)) : entry
        guard ["exit", "quit", "help"].contains(word), evaluator.local(word) == nil else {
            return false
        }
        let value = context.state.globals[word]
        if word == "help" {
            guard value == installedHelp, value != .nil else { return false }
            runCommand(".help")
        } else {
            guard value.isNil else { return false }
            end()
        }
        return true
    }

    /// Prints values as the results of an entry.
    func show(_ values: [LuaValue]) {
        guard !values.isEmpty else { return }
        screen.finishLine()
        let globals = context.state.globals
        globals["_"] = values[0]
        let first = nextResult
        for value in values {
            resultNumber += 1
            globals["_\(resultNumber)"] = value
            if resultNumber > Self.keptResults {
                globals["_\(resultNumber - Self.keptResults)"] = .nil
            }
        }
        lastValues = values
        if screen.isPicture, let chart = drawing(of: values) { screen.draw(chart.svg) }
        print(values, isGenerous: screen.isRedirected && !screen.isPicture, numberedFrom: first)
        screen.endOnce()
    }

    /// Returns the chart if the values are a single chart.
    private func drawing(of values: [LuaValue]) -> Chart? {
        guard values.count == 1 else { return nil }
        // The error is ignored: sections that cannot be read print their error as text.
        return try? context.storeModule.chart(of: values[0])
    }

    /// Prints an error.
    func fail(_ error: any Error) {
        hasFailed = true
        // `os.exit` interrupts what calls it.
        if context.isExiting, (error as? LuaError)?.kind == .interrupted { return }
        // The next entry needs the memory that this one has left behind.
        if (error as? LuaError)?.kind == .memory { context.state.collectGarbage() }
        screen.finishLine()
        var text = errorText
        text.current = evaluator.newestName
        text.framesBelow = framesBelow
        screen.writeToScreen(text.text(of: error) + "\n")
        if let visitHint, "\(error)".contains("frozen version") {
            screen.writeToScreen(screenStyle.paint(visitHint, .dim) + "\n")
        }
    }

    /// Prints an error message of a command.
    func fail(_ message: String) {
        hasFailed = true
        screen.writeToScreen(errorText.wrapped(message) + "\n")
    }

    /// Ends the session after the current entry.
    func end() { hasEnded = true }

    /// Names the stores whose open writes the end of the session rolls back.
    func reportOpenWrites() {
        for store in context.openStores where store.isInWrite {
            write("rolled back the open write of \(store.title)\n")
        }
    }

    /// Starts recording a transcript, or stops it if `recorder` is nil.
    func record(to recorder: (any SessionRecorder)?) {
        transcript = recorder
        guard let recorder else {
            screen.didPage = { _ in }
            return output.tap(nil)
        }
        output.tap { recorder.shown($0) }
        screen.didPage = { recorder.shown($0) }
    }

    /// Records the titles of the observers, so that `.why` can name observers that have ended.
    private func recordObservers() {
        for token in context.storeModule.activeTokens where seenObservers["\(token.number)"] == nil
        {
            let title = "observer \(token.number), \(token.title)"
            seenObservers["\(token.number)"] = title
            if !token.name.isEmpty { seenObservers[token.name] = title }
        }
    }

    /// Returns the pending work for the terminal thread, and clears it.
    func takeFollowUp() -> Mailbox.FollowUp {
        defer { textToEdit = nil }
        if panel != nil { return .panel }
        if let textToEdit { return .edit(textToEdit) }
        return screen.takePage().map { .page($0.text, command: $0.command) } ?? .nothing
    }

    /// Runs the work of a command.
    ///
    /// Ctrl-C stops it wherever it calls `checkStopping` or waits.
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

/// An entry of a session, or Lua that the session ran itself, for `.save`.
struct SessionStep {
    /// `entry`, `forced` for one that the user has allowed to lose data, `failed`, `command`, `file`, `live` or `code`.
    let kind: String
    let text: String
    /// The Lua code of a command, the text of a file, or the number of a live expression.
    let detail: String?
    /// The numbers of the results of an entry; nil if it had none.
    let results: ClosedRange<Int>?

    init(
        _ kind: String, _ text: String, detail: String? = nil, results: ClosedRange<Int>? = nil
    ) {
        self.kind = kind
        self.text = text
        self.detail = detail
        self.results = results
    }
}

/// An error in the use of a command.
struct CommandError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension StringProtocol {
    /// The text without white space at both ends.
    var trimmed: String {
        var text = self[...].drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
