import EventLoops
import LuaHost
import SystemCalls

/// The prompt of `lua -i` for input that is not a terminal: `_PROMPT`, plain text, no editing.
///
/// Each line is printed after its prompt, as `lua` with readline does, so that the output looks like a session at a
/// terminal.
///
/// Unlike `lua`, the prompt records whether an entry has failed, for the exit code.
package struct LuaPlainPrompt {
    private let context: ScriptContext
    private let readLine: LuaFunction?
    private let input: LuaValue

    /// Creates a prompt for a script, on its thread.
    ///
    /// Reads from the same stream as the script's `io.read`.
    package init(_ context: ScriptContext) {
        self.context = context
        input = context.state.globals["io"].table?["stdin"] ?? .nil
        readLine = (try? context.state.index(input, "read"))?.function
    }

    /// Reads and runs entries until the end of input; returns false if an entry has failed.
    package func run() throws -> Bool {
        var succeeded = true
        while !context.isExiting, let entry = read() {
            if let error = evaluate(entry) {
                if context.isExiting || error.kind == .interrupted { throw error }
                succeeded = false
                write(error: LuaProgram.message(error))
            }
            // Between entries, observers and timers run, as at a terminal.
            context.loop.runOnce()
        }
        if !context.isExiting { write("\n") }
        return succeeded
    }

    private func evaluate(_ entry: Result<LuaFunction, LuaError>) -> LuaError? {
        var failure: LuaError?
        do throws(LuaError) {
            try context.belowNativeFrame {
                do throws(LuaError) {
                    try show(try entry.get().callAsChunk())
                } catch {
                    failure = error
                }
            }
        } catch {
            failure = failure ?? error
        }
        return failure
    }

    /// Returns the next complete entry, compiled, or its error; nil at the end of input.
    private func read() -> Result<LuaFunction, LuaError>? {
        guard var text = line(prompt: "_PROMPT", default: "> ") else { return nil }
        if text.first == "=" { text = "return " + text.dropFirst() }
        let expression = compile("return " + text)
        if case .success = expression { return expression }
        while true {
            let entry = compile(text)
            guard case .failure(let error) = entry, error.isIncomplete,
                let more = line(prompt: "_PROMPT2", default: ">> ")
            else { return entry }
            text += "\n" + more
        }
    }

    private func compile(_ text: String) -> Result<LuaFunction, LuaError> {
        Result { () throws(LuaError) in try context.state.load(text, name: "=stdin") }
    }

    private func line(prompt name: String, default prompt: String) -> String? {
        let custom = context.state.globals[name]
        let shown = custom.isNil ? prompt : (try? context.state.describe(custom).text) ?? prompt
        write(shown)
        guard let readLine,
            let line = try? readLine.call([input, "l"]).first?.string
        else { return nil }
        let text = line.text ?? String(decoding: line.bytes, as: UTF8.self)
        write(text + "\n")
        return text
    }

    private func show(_ results: [LuaValue]) throws(LuaError) {
        if results.isEmpty { return }
        do throws(LuaError) {
            try context.state.call(context.state.globals["print"], results)
        } catch {
            if error.kind == .interrupted { throw error }
            write(error: "error calling 'print' (\(error.message))")
        }
    }

    private func write(error: String) {
        ProcessServices.flushOutput()
        ProcessServices.writeError(error + "\n")
    }

    private func write(_ text: String) {
        ProcessServices.flushOutput()
        _ = ProcessServices.output(Array(text.utf8))
    }
}
