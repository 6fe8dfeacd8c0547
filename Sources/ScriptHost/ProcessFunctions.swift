import EventLoops
import LuaHost
import SystemCalls

extension ScriptContext {
    /// Replaces functions of Lua's `os` and `io` that affect the whole process.
    ///
    /// * `os.exit` ends the script instead of the process, so that its tokens and writes end in order. With `true` as
    ///   its second argument it closes the state while code is running, as in `lua`, if the process belongs to the
    ///   script.
    /// * Programs that a script starts can be interrupted, although SIGINT is blocked on its thread. While `os.execute`
    ///   waits, Ctrl-C still ends a process with other scripts.
    func installProcessFunctions() {
        if let os = state.globals["os"].table {
            replace("exit", in: os) { context, call, _ in
                let status = try Self.exitStatus(call)
                if call[2].isTruthy, context.configuration.endsProcess {
                    context.exitProcess(status)
                }
                context.exit(status: status)
                return .none
            }
            replace("execute", in: os) { context, call, original in
                let configuration = context.configuration
                guard !configuration.endsProcess, !configuration.isInteractive,
                    let command = call[1].text
                else { return try Self.callAllowingInterrupts(context, call, original) }
                let end = ShellCommand.run(command)
                let (kind, number) =
                    switch end {
                    case .exit(let code): ("exit", code)
                    case .signal(let number): ("signal", number)
                    }
                return try call.answer([
                    end == .exit(0) ? .boolean(true) : .nil, .text(kind),
                    .integer(Int64(number)),
                ])
            }
        }
        if let io = state.globals["io"].table {
            replace("popen", in: io, with: Self.callAllowingInterrupts)
        }
    }

    private static func exitStatus(_ call: borrowing LuaCall) throws -> Int32 {
        switch call[1] {
        case .nil, .boolean(true): return 0
        case .boolean(false): return 1
        default:
            _ = try call.number(1)
            return Int32(truncatingIfNeeded: try call.integer(1))
        }
    }

    private static func callAllowingInterrupts(
        _ context: ScriptContext, _ call: borrowing LuaCall, _ original: LuaFunction
    ) throws -> LuaAnswer {
        let arguments = call.rest(from: 1)
        let results = try Signals.allowingInterrupts { () throws in
            try original.call(arguments)
        }
        return try call.answer(results)
    }

    private func replace(
        _ name: String, in library: LuaTable,
        with body: @escaping (ScriptContext, borrowing LuaCall, LuaFunction) throws -> LuaAnswer
    ) {
        guard let original = library[name].function else { return }
        let function = state.makeFunction(name) { [weak self] call in
            guard let self else { return .none }
            return try body(self, call, original)
        }
        library[name] = .function(function)
    }
}
