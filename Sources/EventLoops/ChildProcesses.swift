#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs programs, several at a time, and collects what they write to standard output.
package enum ChildProcesses {
    /// How a program has ended.
    package struct Outcome: Sendable {
        /// The exit code; 128 and the signal if a signal has ended it, 127 if it could not be started.
        package let exitCode: Int32
        /// What it has written to standard output.
        package let output: [UInt8]
    }

    /// The path of the running program.
    package static var thisProgram: String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Runs commands, at most `jobs` at a time, in order; each is a program and its arguments.
    ///
    /// `next` is asked for the index of the next command to start, and nil means that none is to be started any more.
    /// `didEnd` receives each outcome, on the calling thread. Children share the process group, so that Ctrl-C reaches
    /// them.
    package static func run(
        _ commands: [[String]], jobs: Int, next: () throws -> Int?,
        didEnd: (Int, Outcome) throws -> Void
    ) rethrows {
        var running: [pid_t: (index: Int, output: Int32)] = [:]
        defer {
            for (child, state) in running {
                kill(child, SIGTERM)
                var status: Int32 = 0
                waitpid(child, &status, 0)
                close(state.output)
            }
        }
        var isDone = false
        while !isDone || !running.isEmpty {
            while !isDone, running.count < max(jobs, 1) {
                guard let index = try next() else {
                    isDone = true
                    break
                }
                if let (child, output) = start(commands[index]) {
                    running[child] = (index, output)
                } else {
                    try didEnd(index, Outcome(exitCode: 127, output: []))
                }
            }
            guard !running.isEmpty else { continue }
            let (child, status) = waitForAny(of: Array(running.keys))
            guard let state = running.removeValue(forKey: child) else { continue }
            let signal = status & 0x7F
            let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
            let output = contents(of: state.output)
            close(state.output)
            try didEnd(state.index, Outcome(exitCode: code, output: output))
        }
    }

    /// Other threads may have children of their own: only these are waited for.
    private static func waitForAny(of children: [pid_t]) -> (pid_t, Int32) {
        while true {
            for child in children {
                var status: Int32 = 0
                if waitpid(child, &status, WNOHANG) == child { return (child, status) }
            }
            var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
            nanosleep(&pause, nil)
        }
    }

    private static func start(_ command: [String]) -> (pid_t, Int32)? {
        var name = Array("/tmp/moonpool-output-XXXXXX".utf8CString)
        let output = mkstemp(&name)
        guard output >= 0, fcntl(output, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
        unlink(&name)
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&files, output, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of scripts block signals, and a child would start with that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        guard posix_spawn(&child, command[0], &files, &attributes, &arguments, environ) == 0 else {
            close(output)
            return nil
        }
        return (child, output)
    }

    private static func contents(of file: Int32) -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var offset: off_t = 0
        while true {
            let count = pread(file, &buffer, buffer.count, offset)
            guard count > 0 else { return result }
            result += buffer[..<count]
            offset += off_t(count)
        }
    }
}
