import Glibc

/// The peak memory of a process, reported by the process itself.
///
/// `VmHWM` starts again with each program, while `ru_maxrss` includes the program before `exec`. Both include pages of
/// mapped files.
enum PeakMemory {
    /// Returns this process's peak memory in kilobytes.
    static func ofThisProcess() throws -> Int {
        guard let status = fopen("/proc/self/status", "r") else { throw BenchmarkError("no /proc") }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while let text = fgets(&line, 256, status) {
            let words = String(cString: text).split { $0 == " " || $0 == "\t" || $0 == "\n" }
            if words.first == "VmHWM:", words.count > 1, let value = Int(words[1]) { return value }
        }
        throw BenchmarkError("no VmHWM in /proc/self/status")
    }

    /// Runs this program again with other arguments; it prints its peak memory in kilobytes.
    ///
    /// Returns mebibytes.
    static func ofThisProgram(_ arguments: String) throws -> Double {
        var path = [CChar](repeating: 0, count: 4096)
        guard readlink("/proc/self/exe", &path, path.count - 1) > 0 else {
            throw BenchmarkError("cannot find this program")
        }
        let program = path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return try told(by: "'\(program)' \(arguments)")
    }

    /// Runs a command that prints kilobytes.
    ///
    /// Returns mebibytes.
    static func told(by command: String) throws -> Double {
        guard let output = popen(command, "r") else {
            throw BenchmarkError("cannot run \(command)")
        }
        var line = [CChar](repeating: 0, count: 64)
        let answer = fgets(&line, 64, output)
        guard pclose(output) == 0, let answer,
            let kilobytes = Int(trimming: String(cString: answer))
        else { throw BenchmarkError("failed: \(command)") }
        return Double(kilobytes) / 1024
    }
}

extension Int {
    /// The number in a line of text.
    init?(trimming text: String) {
        self.init(text.filter { $0.isNumber })
    }
}
