import EventLoops
import LuaHost
import ScriptHost
import Synchronization
import SystemCalls

/// The studio's part in a script, `studio/main.lua`, for a server outside of the script.
///
/// It receives a table with options and functions, and returns a function that receives each message: the number of its
/// page, and a text or nil at the end of the page. A call without arguments ends the program. Number 0 is the server. All
/// functions are usable on any thread, unless they have a context.
package final class GuestProgram: Sendable {
    private struct Functions {
        let receive: LuaFunction
        let finish: LuaFunction?
        let flush: LuaFunction?
    }

    /// The prompt of the program: it runs entries, and keeps their output.
    package let console = HostedSession()
    private let functions = Mutex<LoopBound<Functions>?>(nil)
    private let isOwner: Bool

    /// Creates a program; the script belongs to an owner, which shows all its output in the console.
    package init(isOwner: Bool) { self.isOwner = isOwner }

    /// Starts the program on the script's thread.
    ///
    /// `send` receives the messages of the program. Throws a message if the store cannot be opened.
    package func start(
        _ options: [String: String], in context: ScriptContext,
        send: @escaping @Sendable (_ page: Int64, _ text: [UInt8]) -> Void
    ) throws {
        let lua = context.state
        let host = lua.makeTable()
        for (name, value) in options { host[name] = .text(value) }
        host["pid"] = .integer(Int64(ProcessServices.identifier))
        host["globals"] = .table(lua.globals)
        host["source"] = .function(
            lua.makeFunction("source") { call in
                call.answer(.text(RuntimeFile.text("studio/\(try call.text(1)).lua")))
            })
        host["send"] = .function(
            lua.makeFunction("send") { call in
                send(try call.integer(1), try call.string(2).bytes)
                return .none
            })
        console.addFunctions(
            to: host, context, watchesCalls: isOwner || !context.configuration.isInteractive)
        // Code could write through other stores of a process that the page may only read.
        let isLimited = options["no_console"] != nil || !isOwner && options["read_only"] != nil
        if isLimited { host["evaluate"] = .nil }
        let main = RuntimeFile.text("studio/main.lua")
        let results = try lua.loadRuntime(main, name: "studio/main").call([.table(host)])
        guard let receive = results.first?.function else {
            throw CommandError(results.last?.text ?? "the program returned no function")
        }
        let created = LoopBound(
            Functions(
                receive: receive, finish: host["finish"].function, flush: host["flush"].function),
            on: context.loop)
        functions.withLock { $0 = created }
        guard isOwner, let flush = created.value.flush else { return }
        context.onTurn = { [console, unowned context] in
            if console.hasOutput { context.callback("studio", flush) }
        }
        console.open()
    }

    /// Passes a message to the program; nil is the end of the sender.
    ///
    /// Then runs the entry that the program has evaluated.
    package func receive(_ message: [UInt8]?, from page: Int64, in script: Script) {
        // A stop does not wait for the code that it stops. In another process, a page stops its own entries only.
        if message?.isInterrupt == true {
            if isOwner { script.stopHandler() } else { console.stopEntry(of: script) }
        }
        script.post { [self] context in
            guard let functions = functions.withLock({ $0 })?.value else { return }
            let text = message.map { LuaValue.string(LuaString(bytes: $0)) } ?? .nil
            context.callback("studio", functions.receive, [.integer(page), text])
            console.runEntry(context, finish: functions.finish)
            if !isOwner, console.hasOutput, let flush = functions.flush {
                context.callback("studio", flush)
            }
        }
    }

    /// Ends the program; the script continues.
    package func end(in script: Script) {
        script.post { [self] context in
            guard let functions = functions.withLock({ $0.take() })?.value else { return }
            context.callback("studio", functions.receive)
        }
    }
}

extension [UInt8] {
    /// Whether a message is the request `interrupt`.
    fileprivate var isInterrupt: Bool {
        count < 200 && contains(Array(#""do":"interrupt""#.utf8))
    }
}
