import EventLoops
import LuaHost
import REPL
import ScriptHost
import Synchronization

/// The script that does everything with the store: it runs `studio.lua` on its own thread.
final class StudioEngine: Sendable {
    private struct State {
        var received: LoopBound<LuaFunction>?
        var finish: LoopBound<LuaFunction>?
        var pages: [Int64: WebSocket] = [:]
        var lastPage: Int64 = 0
        var failure: String?
    }

    /// The state that the script's thread and those of the connections share.
    private final class Shared: Sendable {
        let state = Mutex(State())
        let hasStarted = ThreadLatch()
        let console = HostedSession()
    }

    private let script: Script
    private let shared = Shared()

    /// Opens the store on the script's thread, and waits until it is open.
    ///
    /// `offer` receives the path and the name of a file to download, and returns its address. Throws the message of an
    /// error.
    init(
        _ options: [String: String], folder: String,
        offer: @escaping @Sendable (_ path: String, _ name: String) -> String
    ) throws(StudioFailure) {
        do {
            let console = shared.console
            var configuration = ScriptConfiguration(
                name: "studio", isInteractive: true,
                report: { console.write($0.text, as: .error) },
                output: { console.write($0, as: .output) })
            configuration.prepare = { InspectFunction.install(in: $0) }
            script = try Script(configuration) { [shared] context in
                do {
                    try Self.start(context, shared, options, folder, offer)
                } catch {
                    let message = (error as? LuaError)?.message ?? "\(error)"
                    shared.state.withLock { $0.failure = message }
                }
                shared.hasStarted.open()
                return 0
            }
        } catch {
            throw StudioFailure(message: "\(error)")
        }
        while !shared.hasStarted.wait(atMost: .seconds(3600)) {}
        if let message = shared.state.withLock({ $0.failure }) {
            throw StudioFailure(message: message)
        }
    }

    private static func start(
        _ context: ScriptContext, _ shared: Shared, _ options: [String: String], _ folder: String,
        _ offer: @escaping @Sendable (String, String) -> String
    ) throws {
        let lua = context.state
        let host = lua.makeTable()
        for (name, value) in options { host[name] = .text(value) }
        host["folder"] = .text(folder)
        host["pid"] = .integer(Int64(ProcessServices.identifier))
        host["send"] = .function(
            lua.makeFunction("send") { call in
                let page = try call.integer(1)
                let text = try call.string(2).bytes
                shared.state.withLock { $0.pages[page] }?.send(text)
                return .none
            })
        host["offer"] = .function(
            lua.makeFunction("offer") { call in
                call.answer(.text(offer(try call.text(1), try call.text(2))))
            })
        if options["no_console"] == nil { shared.console.addFunctions(to: host, context) }
        let chunk = try lua.load(LuaString(bytes: PageFiles.script), name: "@studio.lua")
        let results = try chunk.call([.table(host)])
        guard let received = results.first?.function else {
            let message = results.last?.text ?? "studio.lua returned no function"
            return shared.state.withLock { $0.failure = message }
        }
        let bound = LoopBound(received, on: context.loop)
        if let flush = host["flush"].function {
            context.onTurn = { [shared, unowned context] in
                if shared.console.hasOutput { context.callback("studio", flush) }
            }
            shared.console.open()
        }
        if let finish = host["finish"].function {
            let bound = LoopBound(finish, on: context.loop)
            shared.state.withLock { $0.finish = bound }
        }
        shared.state.withLock { $0.received = bound }
    }

    /// Adds a page and returns its number.
    func add(_ page: WebSocket) -> Int64 {
        shared.state.withLock { state in
            state.lastPage += 1
            state.pages[state.lastPage] = page
            return state.lastPage
        }
    }

    /// Passes a message of a page to the script; nil is the end of the page.
    func receive(_ message: [UInt8]?, from page: Int64) {
        // A stop does not wait for the code that it stops.
        if message?.isInterrupt == true { script.stopHandler() }
        if message == nil { shared.state.withLock { _ = $0.pages.removeValue(forKey: page) } }
        script.post { [shared] context in
            guard let received = shared.state.withLock({ $0.received })?.value else { return }
            let text = message.map { LuaValue.string(LuaString(bytes: $0)) } ?? .nil
            context.callback("studio", received, [.integer(page), text])
            shared.console.runEntry(
                context, finish: shared.state.withLock({ $0.finish })?.value)
        }
    }

    /// Calls a function on another thread when the script has ended, for example with `os.exit`.
    func whenEnded(_ body: @escaping @Sendable (Int32) -> Void) { script.whenEnded(body) }

    /// Closes the store and waits for the end of the script.
    func end() {
        script.kill()
        _ = script.wait()
    }
}

extension [UInt8] {
    /// Whether a message is the request `interrupt`.
    fileprivate var isInterrupt: Bool {
        count < 200 && contains(Array(#""do":"interrupt""#.utf8))
    }
}

/// A reason why the studio cannot start.
package struct StudioFailure: Error {
    /// The text for the user.
    package let message: String
}
