import EventLoops
import LuaHost

extension ScriptContext {
    /// How many stores a confined script may have open at once.
    private static let confinedStores = 16
    /// The largest size of each file of a confined script's stores, in bytes.
    private static let confinedStoreSize = 1 << 30

    /// Gives the script the rights and limits of its configuration; before any of its code runs.
    func confine() {
        let (rights, limits) = (configuration.rights, configuration.limits)
        state.files = rights.files
        storeModule.rights.isReadOnly = rights.opensStoresReadOnly
        if rights.isConfined {
            storeModule.rights.memoryPrefix = name + "/"
            storeModule.rights.maximumCount = Self.confinedStores
            storeModule.rights.maximumSize = Self.confinedStoreSize
        }
        if let output { capture(output) }
        if limits.instructions != nil, let debug = state.globals["debug"].table {
            debug["sethook"] = .nil  // with it a script would count for itself
        }
        state.setInstructionLimit(limits.instructions)
        state.setTimeLimit(limits.time)
        if let limit = limits.totalTime { state.describeTotalTimeLimit(limit) }
        if configuration.parent == nil { state.account?.beginMeasuring() }
        state.countMemory()
    }

    /// Lua's `loadfile` for the script that the command line names, where the script itself has none: text only.
    static func makeLoadFile(_ state: LuaState) -> LuaFunction {
        state.makeFunction("loadfile") { call in
            let path = call.isNil(1) ? nil : try call.text(1)
            do {
                let chunk = try chunk(
                    path ?? "/dev/stdin", name: path.map { "@" + $0 } ?? "=stdin", call.state)
                return call.answer(.function(chunk))
            } catch let error as LuaError {
                return call.answer(.nil, .text(error.message))
            } catch let error as ScriptFailure {
                return call.answer(.nil, .text(error.message))
            }
        }
    }

    /// Compiles a file of text.
    package static func chunk(_ path: String, name: String, _ state: LuaState) throws -> LuaFunction
    {
        var bytes: [UInt8]
        do {
            bytes = try ProcessServices.readWhole(path)
        } catch {
            throw ScriptFailure(.invalidArgument, "cannot open \(path): \(error.reason)")
        }
        if bytes.first == UInt8(ascii: "#") {
            // A line for the system, which Lua skips; its end stays, for the numbers of lines.
            bytes.removeFirst(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
        }
        return try state.load(LuaString(bytes: bytes), name: name)
    }

    /// `print`, `io.write`, `io.stdout` and `io.stderr` write to the host.
    private func capture(_ output: ScriptOutput) {
        state.globals["print"] = .function(makePrint { output.standard.write(Array($0.utf8)) })
        guard state.globals["io"].table != nil else { return }
        streams = [
            state.useStream(.output) { output.standard.write($0) },
            state.useStream(.error) { output.errors.write($0) },
        ]
        .compactMap(\.self)
    }

    private func makePrint(_ output: @escaping (String) -> Void) -> LuaFunction {
        state.makeFunction("print") { call in
            let words = try call.rest(from: 1).map { try call.state.describe($0).description }
            output(words.joined(separator: "\t") + "\n")
            return .none
        }
    }

    /// Does something while the global `print` writes elsewhere, unless it is replaced by the script meanwhile.
    package func whilePrinting(_ output: @escaping (String) -> Void, _ body: () -> Void) {
        let before = state.globals["print"]
        let function = LuaValue.function(makePrint(output))
        state.globals["print"] = function
        body()
        if state.globals["print"] == function { state.globals["print"] = before }
    }

    /// A stop requested during an entry of an attached user is done.
    package func attachedEntryHasEnded() { _ = signals.takeSpared() }
}
