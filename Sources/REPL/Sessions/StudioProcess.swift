import EventLoops
import ScriptHost
import Synchronization
import SystemCalls

/// The studio of a session: the program `moonpool-studio`, which attaches to the script of the session.
final class StudioProcess: Sendable {
    private struct State {
        var script: Script?
        var server: AttachServer?
        var address: String?
    }

    private let state = Mutex(State())
    private let write: @Sendable (String) -> Void

    /// `write` shows the address of the page, on another thread.
    init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Sets the script of the session.
    func begin(_ script: Script) { state.withLock { $0.script = script } }

    /// Starts the program, or shows the address again if it runs.
    ///
    /// Throws if it is not installed, or if the socket cannot be created.
    func open(opensBrowser: Bool) throws {
        if let address = state.withLock({ $0.address }) { return write(address + "\n") }
        guard let script = state.withLock({ $0.script }), state.withLock({ $0.server }) == nil
        else { return }
        let folder = ChildProcesses.thisProgram?.split(
            separator: "/", omittingEmptySubsequences: false
        ).dropLast().joined(separator: "/")
        let program = (folder ?? ".") + "/moonpool-studio"
        guard ProcessServices.size(of: program) != nil else {
            throw CommandError(
                "'\(program)' is not installed; build it with: swift build -c release --product "
                    + "moonpool-studio")
        }
        let path = try ProcessServices.socketFolder() + "/\(ProcessServices.identifier)-studio.sock"
        let server = try AttachServer(at: path) { [self] address in
            state.withLock { $0.address = address }
            write(address + "\n")
        }
        try server.serve([("repl", script)])
        state.withLock { $0.server = server }
        let command = [program, "--socket=\(path)"] + (opensBrowser ? [] : ["--no-browser"])
        _ = try LoopThread(name: "studio") { [self] _ in
            var commands = [0]
            ChildProcesses.run(
                [command], jobs: 1, isInOwnGroup: true, next: { commands.popLast() },
                didEnd: { [self] _, outcome in
                    // Otherwise the session has ended the studio. After the report, it can be opened again.
                    guard close(server), !script.hasEnded else { return }
                    let code = outcome.exitCode == 0 ? "" : " with exit code \(outcome.exitCode)"
                    write("the studio has ended\(code); .studio opens it again\n")
                }, whileWaiting: {})
            _ = close(server)
        }
    }

    /// Ends the connection with the program, which then ends.
    func end() { _ = state.withLock({ $0.server }).map(close) }

    /// Ends a connection with the program; returns false if it was ended before.
    private func close(_ server: AttachServer) -> Bool {
        let isOpen = state.withLock { state in
            guard state.server === server else { return false }
            (state.server, state.address) = (nil, nil)
            return true
        }
        if isOpen { server.end() }
        return isOpen
    }
}
