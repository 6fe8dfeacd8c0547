import ScriptHost
import Synchronization

/// A script that waits for calls.
///
/// Its functions run on its own thread, like all code of a script.
final class LuaThread {
    enum Argument: Sendable {
        case integer(Int)
        case text(String)
        case keys([Int64])
    }

    /// The start of the script's last write, and the receiver of observed changes.
    final class Moments: Sendable {
        let began = Atomic<UInt64>(0)
        let called: @Sendable (Int) -> Void
        init(called: @escaping @Sendable (Int) -> Void) { self.called = called }
    }

    private final class Answer: Sendable {
        let value = Mutex<(seconds: Double, numbers: [Double], failure: String?)>((0, [], nil))
        let signal = Signal()
    }

    let moments: Moments
    private let script: Script

    init(called: @escaping @Sendable (Int) -> Void = { _ in }) throws {
        let moments = Moments(called: called)
        self.moments = moments
        var configuration = ScriptConfiguration(name: "bench")
        configuration.isInteractive = true
        script = try Script(configuration) { context in
            context.state.globals["called"] = .function(
                context.state.makeFunction("called") { call in
                    moments.called(Int(try call.integer(1)))
                    return .none
                })
            context.state.globals["rest"] = .function(
                context.state.makeFunction("rest") { _ in
                    restAsInQuietProgram()
                    return .none
                })
            context.state.globals["began"] = .function(
                context.state.makeFunction("began") { _ in
                    moments.began.store(nanoseconds(), ordering: .releasing)
                    return .none
                })
            _ = try context.state.load(luaText, name: "=bench").call([])
            return 0
        }
    }

    /// The duration of a step inside the script's thread, and its result.
    typealias Result = (seconds: Double, numbers: [Double])

    /// Runs one step.
    func run(_ step: String, _ arguments: Argument...) throws -> Result {
        try start(step, arguments)()
    }

    /// Starts one step in the script.
    ///
    /// Returns a function that waits for its end.
    func start(_ step: String, _ arguments: [Argument]) -> () throws -> Result {
        let answer = Answer()
        script.post { context in
            do {
                let list = context.state.makeTable()
                list["n"] = .integer(Int64(arguments.count))
                for (index, argument) in arguments.enumerated() {
                    switch argument {
                    case .integer(let value): list[index + 1] = .integer(Int64(value))
                    case .text(let text): list[index + 1] = .text(text)
                    case .keys(let keys):
                        let table = context.state.makeTable(keys.map { .integer($0) })
                        list[index + 1] = .table(table)
                    }
                }
                guard let function = context.state.globals["run_step"].function else {
                    throw BenchmarkError("no function run_step")
                }
                let (seconds, result) = try timed {
                    try function.call(.text(step), .table(list))
                }
                let numbers = result.table?.array.map { $0.number ?? .nan } ?? []
                answer.value.withLock { $0 = (seconds, numbers, nil) }
            } catch {
                answer.value.withLock { $0.failure = "\(error)" }
            }
            answer.signal.raise()
        }
        return {
            _ = answer.signal.wait()
            let value = answer.value.withLock { $0 }
            if let failure = value.failure { throw BenchmarkError("Lua, \(step): \(failure)") }
            return (value.seconds, value.numbers)
        }
    }

    func end() {
        script.finish()
        _ = script.wait()
    }
}
