import Glibc

/// A PostgreSQL or NATS server on this machine, with a separate folder, for one workload.
///
/// A shell ends it when this process ends, also after a crash.
final class ServerFolder {
    let path: String
    private let control: Int32
    private let shell: pid_t

    /// Runs a script for the shell in a new folder: it must end with the server in the background, as `$!`.
    init(_ path: String, _ script: String) throws {
        self.path = path
        try Files.makeEmpty(path)
        chmod(path, 0o777)
        let whole = """
            cd "$0" && exec >out 2>&1
            \(script)
            server=$!
            read -r line
            kill -KILL $server; wait $server
            """
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        var process: pid_t = 0
        let words: [String] = ["sh", "-c", whole, path]
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let code = posix_spawnp(&process, "sh", &actions, nil, arguments, environ)
        posix_spawn_file_actions_destroy(&actions)
        close(ends[0])
        control = ends[1]
        shell = process
        guard code == 0 else { throw BenchmarkError("cannot start a shell: error \(code)") }
    }

    /// Ends the server.
    func stop() {
        close(control)
        waitpid(shell, nil, 0)
        Files.remove(path)
    }

    /// Repeats a step until it does not throw, for at most half a minute.
    func waitUntilReady<Result>(_ step: () throws -> Result) throws -> Result {
        let start = nanoseconds()
        while true {
            do { return try step() } catch {
                guard nanoseconds() - start < 30_000_000_000 else { throw error }
                usleep(50_000)
            }
        }
    }

    /// The first of several programs that is installed.
    static func program(_ paths: [String]) -> String? { paths.first { access($0, X_OK) == 0 } }
}
