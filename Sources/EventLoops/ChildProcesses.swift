import CUV
import SystemCalls

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs several programs at the same time and collects their standard output.
package enum ChildProcesses {
    /// The result of a program.
    package struct Outcome: Sendable {
        /// The exit code; 128 plus the signal number if a signal ended the program, 127 if it could not be started.
        package let exitCode: Int32
        /// The bytes that the program wrote to standard output.
        package let output: [UInt8]
    }

    /// The path of the running program.
    package static var thisProgram: String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Replaces this process with a program; returns only if the program cannot be started, with the system's message.
    package static func replaceThisProcess(with program: String, _ arguments: [String]) -> String {
        var words = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        execv(program, words)
        return systemMessage()
    }

    /// Runs commands in order, at most `jobs` at the same time.
    ///
    /// Each command is a program and its arguments.
    ///
    /// `next` returns the index of the next command to start, or nil to start no more commands. `didEnd` receives each
    /// outcome, on the calling thread. Children share the process group, so that Ctrl-C reaches them, unless `isInOwnGroup`. `whileWaiting` is
    /// called about ten times a second. If one of these functions throws, the running children receive SIGTERM, and the
    /// call waits for their end.
    package static func run(
        _ commands: [[String]], jobs: Int, isInOwnGroup: Bool = false, next: () throws -> Int?,
        didEnd: (Int, Outcome) throws -> Void, whileWaiting: () throws -> Void
    ) rethrows {
        var running: [Child] = []
        defer {
            for child in running { child.terminate() }
            for child in running { _ = child.wait() }
        }
        var isDone = false
        while !isDone || !running.isEmpty {
            while !isDone, running.count < max(jobs, 1) {
                guard let index = try next() else {
                    isDone = true
                    break
                }
                if let child = Child(commands[index], index: index, isInOwnGroup) {
                    running.append(child)
                } else {
                    try didEnd(index, Outcome(exitCode: 127, output: []))
                }
            }
            try whileWaiting()
            for index in readyChildren(running).reversed() where running[index].readOutput() {
                let child = running.remove(at: index)
                try didEnd(child.index, child.outcome())
            }
        }
    }

    /// Waits up to 100 ms for output or the end of a child, and returns the indexes of these children in ascending
    /// order.
    private static func readyChildren(_ children: [Child]) -> [Int] {
        var polled = children.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
        guard !polled.isEmpty else { return [] }
        guard poll(&polled, nfds_t(polled.count), 100) > 0 else { return [] }
        return polled.indices.filter { polled[$0].revents != 0 }
    }
}

/// A started program, and its output so far.
private final class Child {
    let index: Int
    /// The read end of the pipe that receives the program's output.
    let output: Int32
    private let process: pid_t
    private var collected: [UInt8] = []

    init?(_ command: [String], index: Int, _ isInOwnGroup: Bool) {
        var pipe: [Int32] = [-1, -1]
        // libuv sets close-on-exec, so other programs that start at the same time do not inherit these pipes.
        guard uv_pipe(&pipe, 0, 0) == 0 else { return nil }
        defer { close(pipe[1]) }
        guard let process = Self.start(command, output: pipe[1], isInOwnGroup) else {
            close(pipe[0])
            return nil
        }
        (self.index, self.output, self.process) = (index, pipe[0], process)
    }

    deinit { close(output) }

    /// Collects pending output.
    ///
    /// Returns true at the end of the output.
    func readOutput() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(output, &buffer, buffer.count)
        if count > 0 { collected += buffer[..<count] }
        return count == 0 || (count < 0 && errno != EINTR)
    }

    /// Waits until the program exits, after the end of its output.
    func outcome() -> ChildProcesses.Outcome {
        let status = wait()
        let signal = status & 0x7F
        let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        return ChildProcesses.Outcome(exitCode: code, output: collected)
    }

    /// Sends SIGTERM to the program.
    func terminate() { kill(process, SIGTERM) }

    /// Waits for the end of the program and returns its status.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    private static func start(
        _ command: [String], output: Int32, _ isInOwnGroup: Bool
    ) -> pid_t? {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&files, output, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of scripts block signals, and a child would inherit that mask.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        let group = isInOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | group))
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let error = posix_spawn(&child, command[0], &files, &attributes, &arguments, environ)
        return error == 0 ? child : nil
    }
}
