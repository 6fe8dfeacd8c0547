import Glibc

/// Commits through a contestant in another process: this program again, which receives its commands as lines.
///
/// The monotonic clock is the same in all processes, so its times can be compared.
final class ChildCommitter: Committer {
    private let process: pid_t
    private let commands: Int32
    private let answers: Int32

    init(_ contestant: any Contestant, folder: String) throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw BenchmarkError("no pipe") }
        // The child keeps only its standard files.
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (commands, answers) = (toChild[1], fromChild[0])
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_adddup2(&files, toChild[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&files, fromChild[1], STDOUT_FILENO)
        let words = ["benchmarks", "--commit-as", contestant.name, "--folder", folder]
        var arguments = words.map { strdup($0) }
        arguments.append(nil)
        defer { arguments.forEach { free($0) } }
        var child = pid_t()
        let code = posix_spawn(&child, "/proc/self/exe", &files, nil, arguments, environ)
        Glibc.close(toChild[0])
        Glibc.close(fromChild[1])
        guard code == 0 else { throw BenchmarkError("cannot run this program again") }
        process = child
    }

    /// The contestant in the child process pauses.
    func rest() {}

    func setAge(_ age: Int64, of key: Int64) throws -> Beginning { try ask("age \(key) \(age)") }

    func setScore(_ score: Double, of key: Int64) throws -> Beginning {
        try ask("score \(key) \(score)")
    }

    func appendToClub(_ key: Int64) throws -> Beginning { try ask("append \(key) 0") }

    /// Ends the child, which closes its store.
    func end() throws {
        Glibc.close(commands)
        Glibc.close(answers)
        var status: Int32 = 0
        guard waitpid(process, &status, 0) == process, status == 0 else {
            throw BenchmarkError("the committing process has failed")
        }
    }

    private func ask(_ command: String) throws -> Beginning {
        try send(command)
        return answer
    }

    private func send(_ command: String) throws {
        let line = Array((command + "\n").utf8)
        guard write(commands, line, line.count) == line.count else {
            throw BenchmarkError("the committing process has ended")
        }
    }

    // The child waits for this request, so that its own commit does not wake it while the observer is being notified.
    private func answer() throws -> UInt64 {
        try send("began")
        var answer: [UInt8] = []
        var byte: UInt8 = 0
        while read(answers, &byte, 1) == 1 {
            guard byte != UInt8(ascii: "\n") else {
                return UInt64(String(decoding: answer, as: UTF8.self)) ?? 0
            }
            answer.append(byte)
        }
        throw BenchmarkError("the committing process has not answered")
    }

    /// Runs the child process.
    static func serve(_ contestant: any Contestant, folder: String) throws {
        try contestant.open(folder: folder, .never)
        var beginning: Beginning = { throw BenchmarkError("nothing was committed yet") }
        while let line = readLine() {
            let words = line.split(separator: " ")
            if words == ["began"] {
                let answer = Array("\(try beginning())\n".utf8)
                guard write(STDOUT_FILENO, answer, answer.count) == answer.count else {
                    throw BenchmarkError("the reader of the answers has ended")
                }
                continue
            }
            guard words.count == 3, let key = Int64(words[1]), let value = Double(words[2]) else {
                throw BenchmarkError("not understood: \(line)")
            }
            contestant.rest()  // does nothing if the contestant pauses by itself
            beginning =
                switch words[0] {
                case "age": try contestant.setAge(Int64(value), of: key)
                case "score": try contestant.setScore(value, of: key)
                default: try contestant.appendToClub(key)
                }
        }
        try contestant.close()
    }
}
