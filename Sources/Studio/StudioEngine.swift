import EventLoops
import LuaHost
import REPL
import ScriptHost
import Synchronization
import SystemCalls

/// The script that does everything with the store, `studio/main.lua`, on a thread of its own or in another process.
final class StudioEngine: Sendable {
    private struct State {
        var pages: [Int64: WebSocket] = [:]
        var lastPage: Int64 = 0
        var failure: String?
        /// The exit code of a script that has ended.
        var status: Int32?
        var whenEnded: (@Sendable (Int32) -> Void)?
    }

    /// The state that the script's thread and those of the connections share.
    private final class Shared: Sendable {
        let state = Mutex(State())

        func end(_ status: Int32) {
            state.withLock { state in
                state.status = status
                return state.whenEnded
            }?(status)
        }
    }

    private enum Place {
        case own(Script, GuestProgram)
        case attached(AttachedProgram)
    }

    private let shared: Shared
    private let place: Place

    /// Opens the store on the script's thread, or attaches to the process at `options["socket"]`, and waits until it is
    /// open.
    ///
    /// `receive` gets the messages to the server. Throws the message of an error.
    init(
        _ options: [String: String], receive: @escaping @Sendable (String) -> Void
    ) throws(StudioFailure) {
        let shared = Shared()
        self.shared = shared
        let send: @Sendable (Int64, [UInt8]) -> Void = { page, text in
            if page != 0 { return shared.state.withLock { $0.pages[page] }?.send(text) ?? () }
            receive(String(decoding: text, as: UTF8.self))
        }
        if let socket = options["socket"] {
            do throws(AttachFailure) {
                place = .attached(
                    try AttachedProgram(options, at: socket, receive: send) {
                        if !$0.isEmpty { ProcessServices.writeError("moonpool: \($0)\n") }
                        shared.end(0)
                    })
            } catch {
                throw StudioFailure(message: error.message)
            }
            return
        }
        let (program, started) = (GuestProgram(isOwner: true), ThreadLatch())
        let console = program.console
        var configuration = ScriptConfiguration(
            name: "studio", isInteractive: true,
            report: { console.write($0.text, as: .error) },
            output: { console.write($0, as: .output) })
        // A page shows at most 60 states a second, and waking the script would slow the writers down.
        configuration.commitPause = .milliseconds(16)
        configuration.prepare = { InspectFunction.install(in: $0) }
        if options["sandbox"] != nil {
            var host = HostOptions()
            host.isSandboxed = true
            let uploads = options["uploads"]?.split(separator: " ").map(String.init) ?? []
            host.allowedFolders = uploads + (options["folder"].map { [$0] } ?? [])
            host.apply(to: &configuration, store: options["target"])
        }
        do throws(LoopError) {
            let script = try Script(configuration) { context in
                do {
                    try program.start(options, in: context, send: send)
                } catch {
                    let message = (error as? LuaError)?.message ?? "\(error)"
                    shared.state.withLock { $0.failure = message }
                }
                started.open()
                return 0
            }
            script.whenEnded { shared.end($0) }
            place = .own(script, program)
        } catch {
            throw StudioFailure(message: "\(error)")
        }
        while !started.wait(atMost: .seconds(3600)) {}
        if let message = shared.state.withLock({ $0.failure }) {
            throw StudioFailure(message: message)
        }
    }

    /// Adds a page and returns its number.
    func add(_ page: WebSocket) -> Int64 {
        shared.state.withLock { state in
            state.lastPage += 1
            assert(state.pages[state.lastPage] == nil, "each page has a number of its own")
            state.pages[state.lastPage] = page
            return state.lastPage
        }
    }

    /// Passes a message of a page to the script; nil is the end of the page.
    func receive(_ message: [UInt8]?, from page: Int64) {
        if message == nil { shared.state.withLock { _ = $0.pages.removeValue(forKey: page) } }
        switch place {
        case .own(let script, let program): program.receive(message, from: page, in: script)
        case .attached(let program): program.send(message, from: page)
        }
    }

    /// Tells the process of the script the address of the page.
    func announce(_ address: String) {
        if case .attached(let program) = place { program.send(Array(address.utf8), from: 0) }
    }

    /// Calls a function on another thread when the script has ended, for example with `os.exit`.
    func whenEnded(_ body: @escaping @Sendable (Int32) -> Void) {
        let status = shared.state.withLock { state in
            state.whenEnded = body
            return state.status
        }
        if let status { body(status) }
    }

    /// Closes the store and waits for the end of the script; the script of another process continues.
    func end() {
        switch place {
        case .own(let script, _):
            script.kill()
            _ = script.wait()
        case .attached(let program): program.end()
        }
    }
}

/// A reason why the studio cannot start.
package struct StudioFailure: Error {
    /// The text for the user.
    package let message: String
}
