import EventLoops
import ScriptHost

/// What Ctrl-C does while scripts run: the first one stops them, a second one within a second ends the process.
///
/// Code inside a C function that computes cannot be stopped. After a second that is said, and then the next Ctrl-C ends
/// the process however late it comes.
final class InterruptPolicy {
    private let loop: EventLoop
    private var watch: SignalWatch?
    private var termination: SignalWatch?
    private var last: Duration?
    private var notice: LoopTimer?
    private var isStuck = false
    private var scripts: [Script] = []
    private static let signal: Int32 = 2  // SIGINT
    private static let status: Int32 = 130

    /// Begins to listen, before the first script starts: from here on Ctrl-C cannot end the process without cleaning up.
    init(on loop: EventLoop) throws(LoopError) {
        self.loop = loop
        watch = try SignalWatch(Self.signal, on: loop) { [weak self] in self?.interrupt() }
    }

    /// Lets SIGTERM do what Ctrl-C does, and calls the handler first.
    func includeTermination(_ handler: @escaping () -> Void) throws(LoopError) {
        termination = try SignalWatch(15, on: loop) { [weak self] in
            handler()
            self?.interrupt()
        }
    }

    /// Adds a script that Ctrl-C is for.
    func add(_ script: Script) { scripts.append(script) }

    /// Gives Ctrl-C its usual effect back.
    func end() {
        watch?.cancel()
        termination?.cancel()
        notice?.cancel()
    }

    private func interrupt() {
        let now = loop.clock.now()
        if isStuck || last.map({ now - $0 < .seconds(1) }) == true {
            ProcessServices.exitNow(Self.status)
        }
        last = now
        for script in scripts { script.interrupt() }
        notice?.cancel()
        notice = loop.timer(after: .seconds(1), keepsAlive: false) { [weak self] in
            self?.isStuck = true
            ProcessServices.writeError(
                "moonpool: still inside native code; press Ctrl-C again to end the process\n")
        }
    }
}
