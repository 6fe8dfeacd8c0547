import DataFormats
import EventLoops
import LineEditing
import LuaHost
import ObjectStore
import REPL
import ScriptHost
import SystemCalls

/// Runs a command of `lua/migrate/commands.lua` on a script's thread.
///
/// Ctrl-C and SIGTERM stop this code and roll back its transaction. Output of migrations goes to standard error, so
/// that standard output contains only the report.
enum MigrationSession {
    /// The arguments of a command.
    struct Arguments: Sendable {
        /// The named arguments.
        var fields: [String: LuaValue] = [:]
        /// The positional arguments.
        var list: [String] = []

        /// Creates named arguments.
        init(_ fields: KeyValuePairs<String, LuaValue>, list: [String] = []) {
            for (name, value) in fields { self.fields[name] = value }
            self.list = list
        }

        /// Creates the arguments of a command about a store and a folder.
        init(
            _ location: MigrationLocation, _ fields: KeyValuePairs<String, LuaValue> = [:],
            list: [String] = []
        ) {
            self.init(fields, list: list)
            self.fields["store"] = .text(location.store)
            self.fields["dir"] = .text(location.folder)
            self.fields["json"] = .boolean(location.json)
        }

        fileprivate func table(_ state: LuaState) -> LuaTable {
            let table = state.makeTable(list.map { .text($0) })
            for (name, value) in fields { table[name] = value }
            return table
        }
    }

    /// Runs a command and ends the process with its exit code, which is `failure` after an error.
    ///
    /// `prepare` can add primitives.
    static func perform(
        _ command: String, _ arguments: Arguments, failure: Int32 = 1, showsProgress: Bool = false,
        prepare: @escaping @Sendable (MigrationHost) -> Void = { _ in }
    ) -> Never {
        ProcessServices.reserveOutput()
        var configuration = ScriptConfiguration(name: "migrate")
        configuration.prepare = { context in
            InspectFunction.install(in: context)
            // The error is ignored: the code only assigns globals, which fails only without memory, and then the script
            // fails anyway.
            _ = try? context.state.run(redirection)
        }
        let main = { @Sendable (context: ScriptContext) throws -> Int32 in
            let host = MigrationHost.attached(to: context)
            // width(text): the columns of a text on a terminal.
            host.add("width") { _, call in
                .integer(
                    Int64(
                        TerminalText.width(
                            String(decoding: try call.string(1).bytes, as: UTF8.self))))
            }
            prepare(host)
            let progress = ProgressLine("migrated")
            if showsProgress {
                host.progress = { done, total in
                    progress.update(done, Double(done) / Double(max(total, 1)))
                }
                host.progressEnded = { progress.end() }
            }
            let table = arguments.table(context.state)
            var outcome: Result<LuaValue, any Error>?
            do throws(LuaError) {
                // Ctrl-C and SIGTERM interrupt all phases of a call from the script.
                try context.belowNativeFrame {
                    outcome = .init {
                        try host.call("run", of: "commands", [.text(command), .table(table)]).first
                            ?? .nil
                    }
                }
            } catch {
                // Work that has finished ignores a late interruption.
                outcome = outcome ?? .failure(error)
            }
            progress.end()
            // An interruption does not keep a result from being written.
            func show(_ name: String, _ arguments: [LuaValue]) throws -> [LuaValue] {
                do {
                    return try host.call(name, of: "commands", arguments)
                } catch let error as LuaError where error.kind == .interrupted {
                    return try host.call(name, of: "commands", arguments)
                }
            }
            let code: [LuaValue]
            switch outcome ?? .failure(LuaInterrupted()) {
            case .success(let result):
                code = try show("show", [.table(table), result])
            case .failure(let error):
                table["failure"] = .integer(Int64(failure))
                table["interrupted_code"] = .integer(ScriptRunner.isTerminated ? 143 : 130)
                code = try show(
                    "show_error", [.table(table), context.state.value(of: error)])
            }
            return Int32(clamping: code.first?.integer ?? 1)
        }
        ProcessServices.exit(
            ScriptRunner.run([(configuration, main)], rollingBackOnTermination: true))
    }

    /// Returns the JSON of an error in the command line.
    static func report(usage message: String) -> String {
        var writer = JSONWriter()
        writer.string(message)
        return #"{"error":{"code":"invalid_argument","message":"#
            + String(decoding: writer.bytes, as: UTF8.self) + #"},"applied":[]}"# + "\n"
    }

    /// A Lua chunk that writes output of scripts, which goes to standard error, without delay, and refuses `os.exit`.
    private static let redirection = """
        io.stdout:setvbuf "no"
        os.exit = function() error("os.exit ends the process; a script returns or raises an error", 2) end
        """
}
