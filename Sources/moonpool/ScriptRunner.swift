import EventLoops
import ScriptHost
import Synchronization

/// Runs scripts on their threads while the main thread waits for their ends and for Ctrl-C.
enum ScriptRunner {
    typealias Job = (
        configuration: ScriptConfiguration, main: @Sendable (ScriptContext) throws -> Int32
    )

    /// Runs them all to their ends; the first exit code that is not 0, in the order given.
    ///
    /// Ctrl-C stops each script's code; a second one within a second ends the process.
    static func run(_ jobs: [Job]) -> Int32 {
        do throws(LoopError) {
            let loop = try EventLoop()
            loop.attach()
            var scripts: [Script] = []
            var lastInterrupt: Duration?
            // Before the first script starts, or an early Ctrl-C would end the process without its cleaning up.
            let started = Started()
            let watch = try SignalWatch(interruptSignal, on: loop) {
                let now = loop.clock.now()
                if let last = lastInterrupt, now - last < .seconds(1) {
                    ProcessServices.exitNow(130)
                }
                lastInterrupt = now
                for script in started.scripts { script.interrupt() }
            }
            for job in jobs {
                let hold = loop.hold()
                let script = try Script(job.configuration, main: job.main)
                script.whenEnded { _ in hold.release() }
                scripts.append(script)
                started.scripts = scripts
            }
            loop.run()
            let statuses = scripts.map { $0.wait() }
            watch.cancel()
            return statuses.first { $0 != 0 } ?? 0
        } catch {
            ProcessServices.writeError("moonpool: \(error)\n")
            return 1
        }
    }

    /// What a script is called: its file's name without folders and ending.
    static func name(of line: LuaCommandLine) -> String {
        guard case .file(let path) = line.source else { return "script" }
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return file.hasSuffix(".lua") ? String(file.dropLast(4)) : file
    }

    private final class Started {
        var scripts: [Script] = []
    }

    private static let interruptSignal: Int32 = 2
}
