import Glibc
import TestThreads
import Testing

/// The built `moonpool` program.
enum Tool {
    /// The outcome of a finished run.
    struct Outcome {
        var output: String
        var error: String
        /// The exit code, or 128 plus the number of the signal that ended it.
        var exitCode: Int32

        var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// Expects an exit code, and texts in the output.
        @discardableResult  // because many callers need only the code
        func expectExit(
            _ code: Int32, _ texts: String..., at location: SourceLocation = #_sourceLocation
        ) -> Outcome {
            expect(code, texts, in: output, at: location)
        }

        /// Expects the exit code 0, and texts in the output.
        @discardableResult  // because many callers need only the success
        func expectSuccess(
            _ texts: String..., at location: SourceLocation = #_sourceLocation
        ) -> Outcome {
            expect(0, texts, in: output, at: location)
        }

        /// Expects the exit code 0, and what the tool has written.
        func expectOutput(
            _ text: String, error expected: String? = nil,
            at location: SourceLocation = #_sourceLocation
        ) {
            expectSuccess(at: location)
            #expect(output == text, "\(error)", sourceLocation: location)
            #expect(error == expected ?? error, sourceLocation: location)
        }

        /// Expects an exit code, and texts in the standard error.
        @discardableResult  // because many callers need only the failure
        func expectError(
            _ texts: String..., code: Int32 = 1, at location: SourceLocation = #_sourceLocation
        ) -> Outcome {
            expect(code, texts, in: error, at: location)
        }

        private func expect(
            _ code: Int32, _ texts: [String], in stream: String, at location: SourceLocation
        ) -> Outcome {
            #expect(exitCode == code, "\(output)\(error)", sourceLocation: location)
            for text in texts {
                #expect(stream.contains(text), "\(output)\(error)", sourceLocation: location)
            }
            return self
        }
    }

    /// The tool is in the folder of the program that runs the tests.
    static let path = buildFolder + "/moonpool"

    private static let buildFolder: String = {
        var path = [CChar](repeating: 0, count: 4096)
        readlink("/proc/self/exe", &path, path.count - 1)
        let program = path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return String(program[..<program.lastIndex(of: "/")!])
    }()

    /// The package's folder.
    static let root: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// Runs the tool to its end with this text as standard input.
    static func run(
        _ arguments: [String], input: String = "", in folder: String = "/",
        environment: [String: String] = [:]
    ) throws -> Outcome {
        let process = try Subprocess(
            path, arguments, in: folder, environment: environment, input: input)
        return try process.finish()
    }

    /// Runs code with these words in `arg`.
    static func lua(
        _ code: String, _ arguments: String..., in folder: String = "/"
    ) throws -> Outcome {
        try run(["-e", code] + (arguments.isEmpty ? [] : ["-"] + arguments), in: folder)
    }

    /// Runs the tool with a limit on the size of files, in blocks of 512 bytes, without ignoring the signal of the
    /// limit.
    static func run(
        _ arguments: [String], withFilesUpTo blocks: Int, in folder: String = "/"
    ) throws -> Outcome {
        let script = "ulimit -f \(blocks); exec \"$0\" \"$@\""
        return try Subprocess("/bin/sh", ["-c", script, path] + arguments, in: folder).finish()
    }

    /// Runs a script given as text.
    static func run(script: String, arguments: [String] = []) throws -> Outcome {
        let folder = try TemporaryFolder()
        let path = try folder.write(script, to: "script.lua")
        return try run([path] + arguments, in: folder.path)
    }
}

/// A folder that is removed when its value is released.
typealias TemporaryFolder = TestThreads.TemporaryFolder

extension TemporaryFolder {
    /// Returns the content of a folder, in alphabetical order.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }
}

/// A call to the system failed.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String
    init(_ call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
}

/// The text of a file.
func contents(of path: String) throws -> String {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw SystemFailure("open \(path)") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
}
