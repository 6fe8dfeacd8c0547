import Glibc
import Synchronization

/// A child process with its three streams on pipes.
///
/// The process is killed when its value is released or its time limit is exceeded.
final class Subprocess {
    private(set) var output = ""
    private(set) var error = ""
    private let process: pid_t
    private var outputEnd: Int32
    private var errorEnd: Int32
    private var isReaped = false
    private var undecoded: [Int32: [UInt8]] = [:]

    /// Starts a process, and waits until its output contains a text.
    init(
        _ program: String, _ arguments: [String], in folder: String = "/",
        environment: [String: String] = [:], input: String = "", until text: String? = nil
    ) throws {
        // The tool must not read the settings of the user who runs the tests.
        var variables = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"]
        variables.merge(environment) { $1 }
        // `env` changes the folder, because the spawning call cannot do this on every system.
        let words = ["env", "-C", folder, program] + arguments
        let child = try Self.spawning.withLock { _ in try Self.spawn(words, variables) }
        process = child.process
        outputEnd = child.output
        errorEnd = child.error
        // The text fits into the pipe's buffer, so that writing does not wait for the child.
        let bytes = Array(input.utf8)
        precondition(bytes.count < 60_000)
        if !bytes.isEmpty { _ = write(child.input, bytes, bytes.count) }
        close(child.input)
        if let text { try wait { output.contains(text) } }
    }

    /// Starts the tool with code that has these words in `arg`, and waits until its output contains a text.
    convenience init(
        lua code: String, _ arguments: String..., in folder: String = "/", until text: String? = nil
    ) throws {
        let words = ["-e", code] + (arguments.isEmpty ? [] : ["-"] + arguments)
        try self.init(Tool.path, words, in: folder, until: text)
    }

    /// Only one process starts at a time, because a child that inherits the pipe of another child keeps its streams
    /// open.
    private static let spawning = Mutex(())

    private static func spawn(
        _ words: [String], _ variables: [String: String]
    ) throws -> (process: pid_t, input: Int32, output: Int32, error: Int32) {
        let input = try pipe()
        let output = try pipe()
        let error = try pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, 0)
        posix_spawn_file_actions_adddup2(&actions, output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, error.write, 2)
        var process = pid_t()
        let code = withCStrings(words) { words in
            withCStrings(variables.map { "\($0)=\($1)" }) { variables in
                posix_spawn(&process, "/usr/bin/env", &actions, nil, words, variables)
            }
        }
        close(input.read)
        close(output.write)
        close(error.write)
        guard code == 0 else {
            for end in [input.write, output.read, error.read] { close(end) }
            errno = code
            throw SystemFailure("posix_spawn \(words)")
        }
        return (process, input.write, output.read, error.read)
    }

    deinit {
        if !isReaped {
            send(SIGKILL)
            waitpid(process, nil, 0)
        }
        if outputEnd >= 0 { close(outputEnd) }
        if errorEnd >= 0 { close(errorEnd) }
    }

    var identifier: pid_t { process }

    func send(_ signal: Int32) { Glibc.kill(process, signal) }

    /// Kills the process and waits for its end.
    @discardableResult  // because most processes only hold something until then
    func kill() throws -> Tool.Outcome {
        send(SIGKILL)
        return try finish()
    }

    /// Reads until the child has closed both streams, and gets its exit code.
    func finish(within seconds: Double = 300) throws -> Tool.Outcome {
        guard try read(within: seconds, until: { false }) else {
            throw Late(
                description: "still running after \(seconds) s; output so far: \(output)\(error)")
        }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isReaped = true
        let signal = status & 0x7f
        let exitCode = signal == 0 ? (status >> 8) & 0xff : 128 + signal
        return Tool.Outcome(output: output, error: error, exitCode: exitCode)
    }

    /// Reads until `condition` is true.
    func wait(within seconds: Double = 300, until condition: () -> Bool) throws {
        _ = try read(within: seconds, until: condition)
        guard condition() else {
            throw Late(description: "the output did not come: \(output)\(error)")
        }
    }

    struct Late: Error, CustomStringConvertible { let description: String }

    /// Returns true if both streams have ended.
    private func read(within seconds: Double, until condition: () -> Bool) throws -> Bool {
        let deadline = Self.now() + seconds
        while !condition() {
            if outputEnd < 0 && errorEnd < 0 { return true }
            let left = deadline - Self.now()
            guard left > 0 else { return false }
            var polled = [
                pollfd(fd: outputEnd, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errorEnd, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, Int32(left * 1000) + 1) >= 0 || errno == EINTR else {
                throw SystemFailure("poll")
            }
            if polled[0].revents != 0 { take(&outputEnd, into: &output) }
            if polled[1].revents != 0 { take(&errorEnd, into: &error) }
        }
        return false
    }

    private func take(_ end: inout Int32, into text: inout String) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.read(end, &buffer, buffer.count)
        if count > 0 {
            // A read can end inside a character.
            let bytes = undecoded[end, default: []] + buffer[..<count]
            let whole =
                bytes.lastIndex { $0 & 0xc0 != 0x80 }.map { bytes[$0] < 0x80 ? $0 + 1 : $0 } ?? 0
            text += String(decoding: bytes[..<whole], as: UTF8.self)
            undecoded[end] = Array(bytes[whole...])
        } else {
            text += String(decoding: undecoded[end] ?? [], as: UTF8.self)
            close(end)
            end = -1
        }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The descriptor is closed in every other child; otherwise the end of the stream would not be detected.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw SystemFailure("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies + [nil])
    }
}
