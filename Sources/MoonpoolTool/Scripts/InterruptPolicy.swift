import EventLoops
import ScriptHost
import SystemCalls

/// Handles Ctrl-C while scripts run: the first one interrupts the scripts, and a second one within a second ends the
/// process.
///
/// A long-running C function cannot be interrupted. After one second, a message reports that native code is still
/// running, and from then on the next Ctrl-C ends the process.
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

    /// Installs the handler.
    ///
    /// Create it before the first script starts, so that Ctrl-C never ends the process without cleanup.
    init(on loop: EventLoop) throws(LoopError) {
        self.loop = loop
        watch = try SignalWatch(Self.signal, on: loop) { [weak self] in self?.interrupt() }
    }

    /// Makes SIGTERM interrupt the scripts like Ctrl-C, after calling the handler.
    func includeTermination(_ handler: @escaping () -> Void) throws(LoopError) {
        termination = try SignalWatch(15, on: loop) { [weak self] in
            handler()
            self?.interrupt()
        }
    }

    /// Adds a script that Ctrl-C interrupts.
    func add(_ script: Script) { scripts.append(script) }

    /// Restores the default effect of Ctrl-C.
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
                "moonpool: native code is still running; press Ctrl-C again to end the process\n")
        }
    }
}
