import EventLoops
import REPL
import ScriptHost
import Synchronization
import SystemCalls

/// Runs scripts on their own threads while the main thread waits for them and for Ctrl-C.
enum ScriptRunner {
    typealias Job = (
        configuration: ScriptConfiguration, main: @Sendable (ScriptContext) throws -> Int32
    )

    /// Runs all scripts until they end.
    ///
    /// Returns the first exit code that is not 0, in the given order. With `rollingBackOnTermination`, SIGTERM
    /// interrupts the scripts like Ctrl-C. If `host` permits it, other processes of the same user can attach to the
    /// scripts.
    static func run(
        host: HostOptions = HostOptions(), _ jobs: [Job], rollingBackOnTermination: Bool = false,
        watch: (EventLoop) -> AnyObject? = { _ in nil }
    ) -> Int32 {
        do throws(LoopError) {
            let loop = try EventLoop()
            loop.attach()
            let interrupts = try InterruptPolicy(on: loop)
            if rollingBackOnTermination {
                try interrupts.includeTermination { terminated.withLock { $0 = true } }
            }
            let server = host.isAttachable ? try AttachServer(at: host.attachSocket) : nil
            var scripts: [Script] = []
            for job in jobs {
                let hold = loop.hold()
                let script = try Script(job.configuration, main: job.main)
                script.whenEnded { _ in hold.release() }
                scripts.append(script)
                interrupts.add(script)
            }
            try server?.serve(zip(jobs, scripts).map { ($0.configuration.name, $1) })
            let watch = watch(loop)
            withExtendedLifetime(watch) { loop.run() }
            server?.end()
            let statuses = scripts.map { $0.wait() }
            interrupts.end()
            return statuses.first { $0 != 0 } ?? 0
        } catch {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 1
        }
    }

    private static let terminated = Mutex(false)

    /// Whether the process has received SIGTERM.
    static var isTerminated: Bool { terminated.withLock { $0 } }

    /// Returns the name of a script: its file name without folder and extension.
    static func name(of line: LuaCommandLine) -> String {
        guard case .file(let path) = line.source else { return "script" }
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return file.hasSuffix(".lua") ? String(file.dropLast(4)) : file
    }
}
