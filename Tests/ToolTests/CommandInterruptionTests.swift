import Glibc
import TestSupport
import Testing

/// Commands that run out of space, are interrupted or are killed leave files unchanged.
@Suite struct CommandInterruptionTests {
    let folder = try! TemporaryFolder()
    var store: String { folder.path + "/zoo.moonpool" }

    /// Creates a store with this number of dogs faster than a script would.
    func makeStore(_ count: Int) throws {
        let line = { (id: Int) in "{\"id\":\(id),\"name\":\"the dog number \(id)\"}\n" }
        let rows = try folder.write((1...count).map(line).joined(), to: "dogs.jsonl")
        try Tool.run(["import", store, rows, "--class", "Dog"]).expectSuccess()
    }

    func count() throws -> String {
        let outcome = try Tool.run(["check", store]).expectSuccess()
        return outcome.output.split(separator: ", ").last.map(String.init) ?? ""
    }

    func leftOvers() -> [String] {
        TemporaryFolder.names(in: folder.path).filter {
            $0.hasSuffix(".part") || $0.contains(".copy-")
        }
    }

    func text(_ path: String) -> String { (try? contents(of: path)) ?? "" }

    /// Waits until a condition is true.
    func wait(until condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "nothing was written")
            sched_yield()
        }
    }

    // MARK: A full disk

    @Test(arguments: ["jsonl", "json", "csv", "sqlite", "lua"])
    func `an export that runs out of space keeps the old file`(format: String) throws {
        try makeStore(10_000)
        let file = try folder.write("before", to: "out.\(format)")
        let outcome = try Tool.run(
            ["export", store, file, "--class", "Dog"], withFilesUpTo: 300, in: folder.path
        ).expectError(file)
        #expect(outcome.error.hasPrefix("moonpool: "), "\(outcome.error)")
        #expect(outcome.error.split(separator: "\n").count == 1, "\(outcome.error)")
        #expect(try contents(of: file) == "before")
        #expect(leftOvers() == [])
    }

    @Test func `an import that runs out of space has no effect`() throws {
        try makeStore(2000)
        let rows = (10_001...60_000).map { "{\"id\":\($0),\"name\":\"the dog number \($0)\"}\n" }
        let more = try folder.write(rows.joined(), to: "more.jsonl")
        let outcome = try Tool.run(
            ["import", store, more, "--class", "Dog"], withFilesUpTo: 1500, in: folder.path
        ).expectError("file size limit")
        #expect(outcome.error.hasPrefix("moonpool: "), "\(outcome.error)")
        #expect(try count() == "2000 objects\n")
    }

    // MARK: Ctrl-C

    /// A named pipe, to which a test writes the input of a command.
    func makePipe(_ name: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        guard mkfifo(path, 0o600) == 0 else { throw SystemFailure("mkfifo") }
        return path
    }

    /// Writes a text that can exceed the buffer of a pipe.
    func write(_ text: String, to descriptor: Int32) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemFailure("write") }
            rest = rest.dropFirst(count)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func `an interrupted import changes nothing`(signal: Int32) throws {
        try makeStore(100)
        let pipe = try makePipe("rows.jsonl")
        let process = try Subprocess(
            Tool.path, ["import", store, pipe, "--format", "jsonl", "--class", "Dog"])
        let descriptor = open(pipe, O_WRONLY)
        defer { close(descriptor) }
        // The data exceeds the pipe's buffer, so when it is written, the command has begun to read.
        let rows = (1001...6000).map { "{\"id\":\($0),\"name\":\"the dog number \($0)\"}\n" }
        try write(rows.joined(), to: descriptor)
        process.send(signal)
        let outcome = try process.finish()
        #expect(outcome.exitCode == 128 + signal, "\(outcome.error)")
        #expect(outcome.error == (signal == SIGKILL ? "" : "moonpool: interrupted\n"))
        #expect(try count() == "100 objects\n")
    }

    @Test(arguments: ["out.jsonl", "out.sqlite", "out.lua"])
    func `an interrupted export keeps the existing file`(name: String) throws {
        try makeStore(20_000)
        let file = try folder.write("before", to: name)
        let process = try Subprocess(Tool.path, ["export", store, file])
        try wait { !leftOvers().isEmpty || text(file) != "before" }
        process.send(SIGINT)
        let outcome = try process.finish()
        // A fast machine may finish before it receives the signal.
        guard outcome.exitCode != 0 else { return }
        #expect(outcome.exitCode == 130, "\(outcome.error)")
        #expect(outcome.error == "moonpool: interrupted\n")
        #expect(try contents(of: file) == "before")
        #expect(leftOvers() == [])
    }

    @Test func `a terminal shows the progress of an import, and Ctrl-C ends it`() throws {
        try makeStore(10)
        let pipe = try makePipe("rows.jsonl")
        let terminal = try PseudoTerminal(columns: 100)
        try terminal.start(
            Tool.path, ["import", store, pipe, "--format", "jsonl", "--class", "Dog"],
            environment: ["HOME": "/nonexistent", "LC_ALL": "C.UTF-8"])
        let descriptor = open(pipe, O_WRONLY)
        defer { close(descriptor) }
        // Writes rows until the line appears, which takes some time.
        var isShown = false
        for part in 1...400 where !isShown {
            let rows = (1...4096).map { "{\"id\":\(part * 10_000 + $0),\"name\":\"dog\"}\n" }
            try write(rows.joined(), to: descriptor)
            isShown = (try? terminal.wait(forText: " imported, ", seconds: 0.02)) != nil
        }
        #expect(isShown)
        terminal.type("\u{3}")
        try terminal.wait(forText: "moonpool: interrupted")
        #expect(try terminal.exitCode() == 130)
        #expect(try count() == "10 objects\n")
    }
}
