#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs commands in the shell.
package enum ShellCommand {
    /// The end of a command.
    package enum End: Equatable, Sendable {
        /// The command has exited with this code; 127 if the program does not exist.
        case exit(Int32)
        /// This signal has ended the command.
        case signal(Int32)
    }

    /// Runs a command with the standard streams of the process, and waits for its end.
    ///
    /// The arguments are `$0`, `$1` and so on. The command receives all signals, whatever the calling thread blocks, and
    /// the other threads of the process do too: `system` of the C library ignores Ctrl-C in the whole process meanwhile.
    package static func run(_ command: String, _ arguments: [String] = []) -> End {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ["sh", "-c", command] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var process: pid_t = 0
        guard posix_spawn(&process, "/bin/sh", nil, &attributes, &pointers, environ) == 0 else {
            return .exit(127)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return .exit(127) }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
    }
}
