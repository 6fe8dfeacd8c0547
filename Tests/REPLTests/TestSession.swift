import EventLoops
import Foundation
import LineEditing
import LuaHost
import ScriptHost
import Synchronization

@testable import REPL

/// A session without a terminal, which runs entries and returns their output.
final class TestSession: Sendable {
    private final class Shown: Sendable {
        let text = Mutex("")
        func add(_ more: String) { text.withLock { $0 += more } }
    }

    private final class Answer<Content: Sendable>: Sendable {
        let value = Mutex<Content?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
    }

    private struct Silence: Error {}

    private let shown: Shown
    private let script: Script
    private let mailbox: Mailbox

    /// Creates a session in a window of this size, with an empty in-memory store as `store`.
    init(columns: Int = 80, rows: Int = 24, hasPanels: Bool = false) throws {
        guard let pipe = WakePipe() else { throw Silence() }
        let shown = Shown()
        let mailbox = Mailbox(waking: pipe)
        var configuration = ScriptConfiguration(
            name: "repl", usesEnvironment: false, isInteractive: true,
            report: { shown.add(mailbox.session?.value.text(of: $0) ?? $0.text) })
        configuration.prepare = { InspectFunction.install(in: $0) { columns } }
        script = try Script(configuration) { context in
            // Lua writes to the process's output, which tests do not read.
            context.state.globals["print"] = .function(
                context.state.makeFunction("print") { call in
                    let words = call.rest(from: 1).map { value in
                        (try? call.state.describe(value).description) ?? ""
                    }
                    shown.add(words.joined(separator: "\t") + "\n")
                    return .none
                })
            var output = SessionOutput(write: shown.add)
            output.hasPanels = hasPanels
            let session = Session(context, style: .plain, window: (columns, rows), output: output)
            mailbox.begin(LoopBound(session, on: context.loop))
            return 0
        }
        self.shown = shown
        self.mailbox = mailbox
        _ = try run("store = moonpool.open { in_memory = '\(UUID())' }")
    }

    deinit {
        script.finish()
        _ = script.wait()
    }

    /// The globals of a script outside of a session.
    static func globalsOfScripts() throws -> Set<String> {
        let found = Mutex<Set<String>>([])
        let script = try Script(ScriptConfiguration(name: "plain")) { context in
            let names = context.state.globals.pairs.compactMap(\.key.text)
            found.withLock { $0 = Set(names) }
            return 0
        }
        _ = script.wait()
        return found.withLock { $0 }
    }

    /// Runs a job on the script's thread and returns its result.
    func with<Content: Sendable>(_ body: @escaping @Sendable (Session) -> Content) throws -> Content
    {
        let answer = Answer<Content>()
        script.post { [mailbox] _ in
            if let session = mailbox.session?.value { answer.value.withLock { $0 = body(session) } }
            answer.semaphore.signal()
        }
        guard answer.semaphore.wait(timeout: .now() + 60) == .success,
            let content = answer.value.withLock({ $0 })
        else { throw Silence() }
        return content
    }

    /// Runs an entry and returns its output, without the last line break.
    func run(_ entry: String) throws -> String {
        shown.text.withLock { $0 = "" }
        try with { $0.run(entry) }
        var text = shown.text.withLock { $0 }
        if text.last == "\n" { text.removeLast() }
        return text
    }

    /// Waits for output after the start of the last entry, and returns all of it.
    @discardableResult
    func wait(forShown text: String) throws -> String {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let all = shown.text.withLock { $0 }
            if all.contains(text) { return all }
            guard ContinuousClock.now < deadline else { throw Missing(text: text, shown: all) }
            usleep(2_000)
        }
    }

    private struct Missing: Error {
        let text: String
        let shown: String
    }

    /// Runs an entry and stops it after its first output.
    func runAndInterrupt(_ entry: String) throws -> String {
        shown.text.withLock { $0 = "" }
        let answer = Answer<Bool>()
        script.post { [mailbox] _ in
            mailbox.session?.value.run(entry)
            answer.semaphore.signal()
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while shown.text.withLock({ $0.isEmpty }) {
            guard ContinuousClock.now < deadline else { throw Silence() }
            sched_yield()
        }
        script.interrupt()
        guard answer.semaphore.wait(timeout: .now() + 60) == .success else { throw Silence() }
        return shown.text.withLock { $0 }
    }

    /// The current prompt.
    func prompt() throws -> String { try with { $0.prompt } }

    /// The completions at the end of a text.
    func complete(_ text: String) throws -> [String] {
        try with { $0.completion(of: text)?.candidates ?? [] }
    }
}

extension Session {
    /// The dot commands, as the prompt's files declare them.
    var commands: [LuaTable] {
        let all = try? module.file("commands")["all"].function?.call([]).first?.table
        return all?.array.compactMap(\.table) ?? []
    }

    /// The script that `.save` writes.
    var savedScript: String {
        (try? module.file("save")["script"].function?.call([]).first?.text) ?? ""
    }

    /// Returns the texts of a list in one of the prompt's files.
    func texts(_ name: String, of file: String) -> [String] {
        let value = try? module.file(file)[name]
        let list = (try? value?.function?.call([]).first?.table) ?? value?.table
        return list?.array.compactMap { $0.text ?? $0.table?["name"].text } ?? []
    }
}
