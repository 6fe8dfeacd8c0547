import EventLoops
import LuaHost
import SystemCalls

extension ScriptContext {
    /// The maximum number of stores that a confined script can have open at the same time.
    private static let confinedStores = 16
    /// The maximum size of each file of a confined script's stores, in bytes.
    private static let confinedStoreSize = 1 << 30

    /// Applies the rights and limits of the configuration, before any code of the script runs.
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
            debug["sethook"] = .nil  // could remove the limit of instructions
        }
        state.setInstructionLimit(limits.instructions)
        state.setTimeLimit(limits.time)
        if let limit = limits.totalTime { state.describeTotalTimeLimit(limit) }
        if configuration.parent == nil { state.account?.beginMeasuring() }
        state.countMemory()
    }

    /// Creates Lua's `loadfile` for the script on the command line if the script itself has none; it loads text only.
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

    /// Compiles a text file.
    package static func chunk(_ path: String, name: String, _ state: LuaState) throws -> LuaFunction
    {
        var bytes: [UInt8]
        do {
            bytes = try ProcessServices.readWhole(path)
        } catch {
            throw ScriptFailure(.invalidArgument, "cannot open \(path): \(error.reason)")
        }
        if bytes.first == UInt8(ascii: "#") {
            // A `#!` line is removed as in Lua, except for its line break, so that line numbers do not change.
            bytes.removeFirst(bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
        }
        return try state.load(LuaString(bytes: bytes), name: name)
    }

    /// Redirects `print`, `io.write`, `io.stdout` and `io.stderr` to the host.
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

    /// Runs the body while the global `print` writes to `output`, and restores `print` unless the script has replaced
    /// it.
    package func whilePrinting(_ output: @escaping (String) -> Void, _ body: () -> Void) {
        let before = state.globals["print"]
        let function = LuaValue.function(makePrint(output))
        state.globals["print"] = function
        body()
        if state.globals["print"] == function { state.globals["print"] = before }
    }

    /// Clears a stop that was requested during an entry of an attached user.
    package func attachedEntryHasEnded() { _ = signals.takeSpared() }
}
