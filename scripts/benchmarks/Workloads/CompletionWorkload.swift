import EventLoops
import REPL
import ScriptHost
import Synchronization

/// W15: completion by Tab at the prompt, in a store with 200 classes and all objects.
///
/// Entries are completed on the script's thread, as at the prompt. The row is the slowest of the texts.
enum CompletionWorkload {
    private static let row = Row(
        title: "W15 slowest completion, 200 classes", unit: .milliseconds, lua: .atMost(20))

    /// The texts before Tab: names, members, classes, key paths, tables, commands.
    private static let texts = [
        "s", "store:", "print(store:objects('C", "store:objects('C150'):wh", "all:where 'na",
        "all:where 'next.next.next.na", "all[1].ne", "first.next.next.", "print 'n",
        "store:create('C1', { na", "store:object('C7', 3):update { ", "moonpool.", "string.f",
        "big.k", "k12", ".schema C", ".help ob", ".explain all:sorted 'next.a",
    ]

    /// 200 classes that link to each other, all objects in one of them, and a large table.
    private static let preparation = """
        local path, count = ...
        local schema = {}
        for number = 1, 200 do
          local class = { id = "int primary", name = "string", next = "C" .. number % 200 + 1, tags = "string<>" }
          for column = 1, 8 do class["a" .. column .. "_" .. number] = "int?" end
          schema["C" .. number] = class
        end
        store = moonpool.open { path = path, schema = schema, durability = "memory" }
        for from = 1, count, 100000 do
          store:write(function()
            for id = from, math.min(count, from + 99999) do store:create("C1", { id = id, name = "name " .. id }) end
          end)
        end
        all, first, big = store:objects "C1", store:object("C1", 1), {}
        for number = 1, 1000000 do big["k" .. number] = number end
        for number = 1, 10000 do _G["k" .. number] = number end
        """

    static func run(_ bench: Bench) throws {
        let contestants = bench.contestants.filter { $0.name == Report.lua }
        guard bench.options.includes(row), let contestant = contestants.first else { return }
        let folder = bench.folder(contestant, "completion")
        try Files.makeEmpty(folder)
        let prompt = try PreparedPrompt(
            preparation, path: "\(folder)/store", count: bench.options.size)
        defer { prompt.end() }
        try bench.repeatEach(row, among: contestants) { _ in
            let answers = try prompt.complete(texts)
            let slowest = answers.map(\.seconds).max() ?? 0
            return (row.unit.value(slowest), answers.map { Double($0.count) })
        }
    }
}

/// A session of the prompt, without a terminal.
private final class PreparedPrompt {
    private struct State {
        var session: LoopBound<Session>?
        var answers: [(seconds: Double, count: Int)] = []
        var failure: String?
    }

    private final class SharedSession: Sendable {
        let state = Mutex(State())
        let signal = Signal()
    }

    private let script: Script
    private let shared = SharedSession()

    /// Runs Lua with a path and a number as its arguments, and then handles requests.
    init(_ text: String, path: String, count: Int) throws {
        let configuration = ScriptConfiguration(name: "prompt", isInteractive: true)
        script = try Script(configuration) { [shared] context in
            let session = Session(context, style: .plain, output: SessionOutput(write: { _ in }))
            do {
                _ = try context.state.run(
                    text, name: "=prepare", arguments: [.text(path), .integer(Int64(count))])
            } catch {
                shared.state.withLock { $0.failure = "\(error)" }
            }
            shared.state.withLock { $0.session = LoopBound(session, on: context.loop) }
            shared.signal.raise()
            return 0
        }
        _ = shared.signal.wait()
        try check()
    }

    /// Completes each text.
    ///
    /// Returns the duration and the number of candidates.
    func complete(_ texts: [String]) throws -> [(seconds: Double, count: Int)] {
        script.post { [shared] _ in
            let session = shared.state.withLock { $0.session }
            let answers = texts.map { text in
                let (seconds, completion) = timed { session?.value.completion(of: text) }
                return (seconds: seconds, count: completion?.candidates.count ?? 0)
            }
            shared.state.withLock { state in
                state.answers = answers
                for (text, answer) in zip(texts, answers) where answer.count == 0 {
                    state.failure = "nothing completes \(text)"
                }
            }
            shared.signal.raise()
        }
        _ = shared.signal.wait()
        try check()
        return shared.state.withLock { $0.answers }
    }

    private func check() throws {
        if let failure = shared.state.withLock({ $0.failure }) { throw BenchmarkError(failure) }
    }

    func end() {
        script.finish()
        _ = script.wait()
    }
}
