import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import StoreBindings
import Synchronization
import SystemCalls

// What a session does for dot commands, which are written in Lua: runs them and files, asks, watches, visits versions.

extension Session {
    /// Runs a dot command.
    func runCommand(_ entry: String) {
        afterCommand = nil
        do {
            let run = try module.file("commands")["run"].function
            let values = try context.entry { () throws in try run?.call([.text(entry)]) ?? [] }
            if !values.isEmpty { print(values) }
            try afterCommand.take()?()
        } catch {
            fail(error)
        }
    }

    /// Runs what a command or a delay has left for later.
    func runLater() {
        while !laterRuns.isEmpty {
            let (body, finish) = laterRuns.removeFirst()
            var isDone = true
            do {
                _ = try context.entry { () throws in try body.call([]) }
            } catch {
                isDone = false
                fail(error)
            }
            do {
                _ = try context.entry { () throws in try finish.call([.boolean(isDone)]) }
            } catch {
                fail(error)
            }
        }
    }

    /// Lets `prompt/reload` record the files of modules that have been loaded.
    func recordModules() {
        let count = context.state.loadedModules?.pairs.count ?? 0
        guard count != moduleCount else { return }
        moduleCount = count
        _ = try? module.file("reload")["note"].function?.call([])
    }

    /// Runs the text of a file: as one chunk, or entry by entry if it contains what only the prompt accepts.
    func load(_ text: String, named file: String, shownAs path: String) {
        let isChunk = (try? context.state.load(text, name: "@" + file)) != nil
        guard !isChunk, let entries = EntryText.entries(of: text) else {
            if evaluate(text, named: file) {
                steps.append(SessionStep("file", path, detail: text))
            }
            return
        }
        for (entry, linesBefore) in entries {
            if EntryText.isCommand(entry) {
                runCommand(entry)
            } else {
                // Blank lines keep the line numbers of the file in messages.
                let padding = String(repeating: "\n", count: linesBefore)
                let first = nextResult
                evaluate(padding + EntryText.lua(entry), named: file)
                if !hasFailed {
                    steps.append(SessionStep("entry", entry, results: results(from: first)))
                }
            }
            if hasFailed { return }
        }
    }

    /// Returns the store for a command, or throws if no store is open.
    func requireStore() throws -> StoreHandle {
        guard let store else {
            throw CommandError(
                "no store is open; open one with: store = moonpool.open \"name.moonpool\"")
        }
        return store
    }

    /// Compiles the argument of `.explain` and `.watch`: `Dog`, `Dog where age > 3`, or an expression.
    ///
    /// If a variable has the name of a class, the name means the variable, unless a predicate follows. A name that is
    /// neither is a wrong class.
    func prepareQuery(_ text: String) throws -> () throws -> [LuaValue] {
        guard let store, let query = ClassQuery(text),
            query.predicate == nil
                ? Self.isName(query.className) && !isVariable(query.className)
                : query.hasWhere || store.store.schema.find(query.className) != nil
        else { return try evaluator.prepare("= " + text) }
        let results = try query.results(in: store.store)
        return { [store.value(of: results)] }
    }

    private static func isName(_ text: String) -> Bool {
        text.first?.isNumber == false
            && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    private func isVariable(_ name: String) -> Bool {
        evaluator.local(name) ?? context.state.globals[name] != .nil
    }

    // MARK: - Transcripts

    /// Starts recording the session, as a picture if the name of the file has the extension of one.
    func beginTranscript(_ path: String) throws {
        let recorder: any SessionRecorder =
            if let format = PictureFormat(path: path) {
                try PictureRecorder(path, format, style: style, columns: window.columns)
            } else {
                try TranscriptRecorder(
                    path, columns: window.columns, firstEntry: evaluator.nextNumber)
            }
        write("recording to \(recorder.path); stop with .transcript\n")
        record(to: recorder)
    }

    /// Ends the recording; returns whether there was one.
    func endTranscript() throws -> Bool {
        guard let recorder = transcript else { return false }
        record(to: nil)
        let count = try recorder.end().get()
        write("\(ValueText.count(count, "entry", "entries")) in \(recorder.path)\n")
        return true
    }

    // MARK: - Questions

    /// Asks until the answer is the beginning of one choice; without choices, any answer ends the question.
    ///
    /// Returns the choice; nil after Ctrl-C, at the end of input, and if the prompt cannot ask. Observers and timers run
    /// while it waits.
    func ask(_ question: String, choices: [String]) throws -> String? {
        guard let ask = output.ask else { return nil }
        screen.finishLine()
        while true {
            let answer = Answer()
            ask(question) { answer.fill($0) }
            while !answer.isThere {
                _ = context.loop.wait(for: .milliseconds(20)) { [context] in
                    answer.isThere || context.isExiting || context.state.isStopping
                }
                try context.state.checkStopping()
                if context.isExiting { return nil }
            }
            guard let text = answer.text?.trimmed else { return nil }
            if choices.isEmpty { return text }
            let typed = text.lowercased()
            if let choice = choices.first(where: { $0.lowercased() == typed }) { return choice }
            let found = choices.filter { $0.lowercased().hasPrefix(typed) }
            if found.count == 1 { return found[0] }
        }
    }

    private final class Answer: Sendable {
        private let state = Mutex<(isThere: Bool, text: String?)>((false, nil))
        var isThere: Bool { state.withLock { $0.isThere } }
        var text: String? { state.withLock { $0.text } }
        func fill(_ text: String?) { state.withLock { $0 = (true, text) } }
    }

    /// Makes `define` ask for confirmation before it loses data, if the prompt can ask.
    func confirmLosses() {
        guard output.ask != nil else { return }
        context.storeModule.confirmsLoss = { [weak self] preview in
            guard let self, isRunning else { return false }
            screen.writeToScreen(text(of: preview))
            let answer = try ask(
                "apply the change and lose these values? y/n ", choices: ["yes", "no"])
            hasConfirmedLoss = answer == "yes"
            return hasConfirmedLoss
        }
    }

    /// Returns the affected objects, with the values before and after side by side.
    private func text(of preview: [LossPreview]) -> String {
        var shown: [String] = []
        for loss in preview {
            shown += wrap.lines(loss.difference).map { style.paint($0, .strong) }
            guard !loss.rows.isEmpty else {
                shown.append(style.paint("  no object has a value", .dim))
                continue
            }
            let rows = loss.rows.map { row in
                [
                    "  " + row.object, shortened(row.old),
                    row.new.map(shortened) ?? "(removed)",
                ]
            }
            let table = lines(of: [["  object", "before", "after"]] + rows)
            shown += table
            if loss.objects > loss.rows.count {
                let text =
                    "  \(ValueText.count(loss.rows.count)) of \(ValueText.count(loss.objects, "object"))"
                shown.append(style.paint(text, .dim))
            }
        }
        return shown.map { $0 + "\n" }.joined()
    }

    private func shortened(_ text: String) -> String {
        TerminalText.truncate(
            ControlCharacters.escaped(text, onOneLine: true), to: max(8, (window.columns - 24) / 2))
    }

    // MARK: - Lines that follow data

    /// Shows lines and redraws them in place when they change, until Ctrl-C.
    ///
    /// Observers and timers run while it waits.
    ///
    /// On a terminal that cannot redraw, shows the lines once.
    func showLive(every interval: Duration, _ lines: @escaping () throws -> [String]) throws {
        guard let footer = output.footer else {
            for line in try lines() { write(line + "\n") }
            return
        }
        screen.finishLine()
        defer { output.keepFooter() }
        do {
            try stoppable { [self] in
                var shown: [String] = []
                while !context.isExiting, !context.state.isStopping {
                    if let size = output.window() { window = size }
                    let next = fitting(try lines())
                    if next != shown { footer(next) }
                    shown = next
                    _ = context.loop.wait(for: interval) { [context] in
                        context.isExiting || context.state.isStopping
                    }
                }
            }
        } catch let error as LuaError where error.kind == .interrupted {
            // Ctrl-C ends the view.
        }
    }

    // MARK: - Versions

    /// Returns the live store, even while `store` shows one of its earlier versions.
    func requireLiveStore() throws -> StoreHandle {
        try visited?.handle ?? requireStore()
    }

    /// The version that `store` shows instead of the newest; nil for the newest.
    var visitedVersion: UInt64? { visited?.version }

    /// Binds `store` to a version of the store; objects in other variables keep their version.
    ///
    /// Throws `out_of_range` for a version that is not kept.
    func visit(_ version: UInt64) throws {
        let handle = try requireLiveStore()
        if version == handle.store.version {
            return visited == nil ? () : try returnToPresent()
        }
        let live = visited?.live ?? context.storeModule.value(of: handle)
        let space = try handle.value(at: version)
        bindStore(to: space)
        visited = VisitedVersion(handle: handle, version: version, live: live)
    }

    /// Binds `store` to the live store again.
    func returnToPresent() throws {
        guard let visited else {
            throw CommandError("store already shows the newest version; .history lists the others")
        }
        bindStore(to: visited.live)
        self.visited = nil
        write("store shows the newest version, \(visited.handle.store.version)\n")
    }

    /// Ends the visit if the user has given `store` another value.
    func noticeStoreOfUser() {
        guard visited != nil else { return }
        let value = evaluator.local("store") ?? context.state.globals["store"]
        if case .store? = context.storeModule.inspect(value) { visited = nil }
    }

    private func bindStore(to value: LuaValue) {
        if evaluator.local("store") != nil {
            evaluator.setLocal("store", value)
        } else {
            context.state.globals["store"] = value
        }
    }

    /// A hint about how to return to the live store, after an error about writing to an earlier version.
    var visitHint: String? {
        visited.map { "store shows version \($0.version); .goto returns to the newest version" }
    }
}

/// An earlier version that the variable `store` shows.
struct VisitedVersion {
    let handle: StoreHandle
    let version: UInt64
    /// The previous value of `store`: a live store.
    let live: LuaValue
}
