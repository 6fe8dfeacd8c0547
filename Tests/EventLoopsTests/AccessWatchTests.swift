import EventLoops
import Foundation
import Glibc
import Testing

@Suite final class AccessWatchTests {
    private let path = "/tmp/moonpool-access-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    private let file: Int32
    private let loop: EventLoop
    private let log = Log()

    init() throws {
        file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        #expect(pwrite(file, "abc", 3, 0) == 3)
        loop = try EventLoop()
        loop.attach()
    }

    deinit {
        close(file)
        unlink(path)
    }

    private func watch() throws -> AccessWatch {
        try AccessWatch(path: path, on: loop) { [log] in log.add("accessed") }
    }

    private func isCalled(within time: Duration = .seconds(60)) -> Bool {
        let before = log.lines.count
        return loop.wait(for: time) { [log] in log.lines.count > before }
    }

    private func readByte() {
        var byte: UInt8 = 0
        #expect(pread(file, &byte, 1, 0) == 1)
    }

    @Test func `a watch reports each read of the file until the watch ends`() throws {
        let watch = try watch()
        #expect(!loop.isAlive)
        for _ in 1...3 {
            readByte()
            #expect(isCalled())
        }
        watch.cancel()
        readByte()
        #expect(!isCalled(within: .milliseconds(5)))
        watch.cancel()
        loop.close()
    }

    @Test func `a watch combines many accesses into one call`() throws {
        let watch = try watch()
        for _ in 1...1000 { readByte() }
        #expect(isCalled())
        #expect(!isCalled(within: .milliseconds(5)))
        watch.cancel()
    }

    @Test func `an access calls all watches of the file, and no others`() throws {
        let other = "\(path)-other"
        close(open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
        defer { unlink(other) }
        let watches = [
            try watch(), try AccessWatch(path: path, on: loop) { [log] in log.add("again") },
            try AccessWatch(path: other, on: loop) { [log] in log.add("other") },
        ]
        readByte()
        #expect(isCalled())
        #expect(log.lines == ["accessed", "again"])
        watches[0].cancel()
        readByte()
        #expect(isCalled())
        #expect(log.lines == ["accessed", "again", "again"])
        watches[1].cancel()
        readByte()
        close(open(other, O_RDONLY | O_CLOEXEC))
        #expect(isCalled())
        #expect(log.lines.last == "other")
        #expect(log.lines.count == 4)
        watches[2].cancel()
    }

    @Test func `all watches of a loop use one system instance`()
        throws
    {
        func instances() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
                let link = "/proc/self/fd/\($0)"
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
                return target == "anon_inode:inotify"
            }
        }
        let watches = try (0..<300).map { _ in try watch() }
        #expect(try instances() < 100)
        watches.forEach { $0.cancel() }
    }

    @Test func `a watch is not called for writes`() throws {
        let watch = try watch()
        #expect(pwrite(file, "def", 3, 0) == 3)
        #expect(!isCalled(within: .milliseconds(5)))
        watch.cancel()
    }

    @Test func `a watch reports the end of a process that is killed with the file open`() throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 9, path, O_RDWR, 0)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
        defer { arguments.forEach { free($0) } }
        var process = pid_t()
        #expect(posix_spawn(&process, "/bin/sleep", &actions, nil, &arguments, environ) == 0)
        let watch = try watch()
        kill(process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        #expect(isCalled())
        watch.cancel()
    }

    @Test func `a watch reports the name of a missing file`() throws {
        let error = #expect(throws: LoopError.self) {
            try AccessWatch(path: "/nowhere/zoo.moonpool-lock", on: loop) {}
        }
        #expect(
            error?.description
                == "inotify_add_watch '/nowhere/zoo.moonpool-lock': no such file or directory")
    }
}
