import EventLoops
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct FileWatchTests {
    @Test func `a watch reports a write to the file`() throws {
        let path = "/tmp/moonpool-watch-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        let loop = try EventLoop()
        loop.attach()
        let log = Log()
        let watch = try FileWatch(path: path, on: loop) { log.add("written") }
        #expect(!loop.isAlive)
        #expect(pwrite(file, "abc", 3, 0) == 3)
        #expect(loop.wait(for: .seconds(60)) { !log.lines.isEmpty })
        watch.cancel()
        #expect(pwrite(file, "def", 3, 0) == 3)
        let before = log.lines.count
        #expect(!loop.wait(for: .milliseconds(5)) { log.lines.count > before })
        watch.cancel()
        loop.close()
    }

    @Test func `a watch reports the name of a missing file`() throws {
        let loop = try EventLoop()
        loop.attach()
        let error = #expect(throws: LoopError.self) {
            try FileWatch(path: "/nowhere/zoo.moonpool", on: loop) {}
        }
        #expect(
            error?.description
                == "uv_fs_event_start '/nowhere/zoo.moonpool': no such file or directory")
    }

    // The address sanitizer detects writes to a released handle.
    @Test func `watches can end after their loop`() throws {
        let loop = try EventLoop()
        loop.attach()
        let file = try FileWatch(path: "/tmp", on: loop) {}
        let signal = try SignalWatch(SIGUSR2, on: loop) {}
        let access = try AccessWatch(path: "/tmp", on: loop) {}
        loop.close()
        file.cancel()
        signal.cancel()
        access.cancel()
    }

    @Test func `a watch receives a signal`() throws {
        let loop = try EventLoop()
        loop.attach()
        let log = Log()
        let watch = try SignalWatch(SIGUSR1, on: loop) { log.add("signal") }
        kill(getpid(), SIGUSR1)
        #expect(loop.wait(for: .seconds(60)) { !log.lines.isEmpty })
        watch.cancel()
    }
}
