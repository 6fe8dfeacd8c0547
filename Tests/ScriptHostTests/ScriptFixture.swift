import EventLoops
import LuaHost
import ScriptHost
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A script whose `log(text)` is collected, and whose reports are kept instead of printed.
final class ScriptFixture: Sendable {
    private let lines = Mutex<[String]>([])
    private let reported = Mutex<[ScriptReport]>([])
    private let traced = Mutex<String?>(nil)
    private let running = Mutex<Script?>(nil)

    /// What the script has logged so far.
    var log: [String] { lines.withLock { $0 } }
    /// What went wrong outside of its main chunk.
    var reports: [ScriptReport] { reported.withLock { $0 } }
    /// Where its main chunk was when it failed.
    var traceback: String? { traced.withLock { $0 } }
    var script: Script { running.withLock { $0! } }

    /// Starts a script with this source; `main` errors are logged as `error: …`.
    init(
        _ source: String, chunk: String = "=script", isInteractive: Bool = false,
        clock: any LoopClock = SystemClock(), rights: ScriptRights = .all,
        limits: ScriptLimits = .none
    ) throws {
        let configuration = ScriptConfiguration(
            name: "test", rights: rights, limits: limits, isInteractive: isInteractive,
            clock: clock,
            report: { [self] report in reported.withLock { $0.append(report) } })
        let script = try Script(configuration) { [self] context in
            let log = context.state.makeFunction("log") { [self] call in
                let text = try call.state.describe(call[1]).description
                lines.withLock { $0.append(text) }
                return .none
            }
            context.state.globals["log"] = .function(log)
            do {
                try context.state.load(source, name: chunk).call([])
            } catch let error as LuaError {
                lines.withLock { $0.append("error: \(error.message)") }
                traced.withLock { $0 = error.traceback }
                throw error
            }
            return 0
        }
        running.withLock { $0 = script }
    }

    /// Waits for a line of the log; the outcome is true unless a minute went by.
    func logs(_ line: String) -> Bool { eventually { log.contains(line) } }

    /// Waits for the end, at most a minute; the exit code.
    func finish() -> Int32? {
        let flag = Flag()
        script.whenEnded { _ in flag.set() }
        guard eventually({ flag.isSet }) else { return nil }
        return script.wait()
    }
}

/// Something that happens once, on another thread.
final class Flag: Sendable {
    private let state = Atomic<Bool>(false)
    func set() { state.store(true, ordering: .releasing) }
    var isSet: Bool { state.load(ordering: .acquiring) }
}

/// Waits until the condition holds; false after a minute.
func eventually(_ condition: () -> Bool) -> Bool {
    let clock = SystemClock()
    let deadline = clock.now() + .seconds(60)
    while !condition() {
        if clock.now() > deadline { return false }
        usleep(500)
    }
    return true
}

/// A folder that goes away with its value.
final class Folder {
    let path: String

    init() throws {
        var template = Array("/tmp/moonpool-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    struct Failure: Error {}

    func make(_ name: String) throws {
        guard mkdir("\(path)/\(name)", 0o755) == 0 else { throw Failure() }
    }

    func link(_ name: String, to target: String) throws {
        guard symlink(target, "\(path)/\(name)") == 0 else { throw Failure() }
    }

    func write(_ text: String, to name: String) throws {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw Failure() }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw Failure() }
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        if unlink(path) == 0 || rmdir(path) == 0 { return }
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}
