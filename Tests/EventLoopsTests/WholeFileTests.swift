import EventLoops
import Glibc
import SystemCalls
import Testing

@Suite final class WholeFileTests {
    private let path = "/tmp/moonpool-whole-\(getpid())-\(UInt32.random(in: 0 ... .max))"

    deinit { unlink(path) }

    private func reason(_ path: String, limit: Int = 1 << 20) -> (String, isMissing: Bool)? {
        do {
            _ = try ProcessServices.readWhole(path, limit: limit)
            return nil
        } catch {
            return (error.reason, error.isMissing)
        }
    }

    @Test func `a file is read as a whole or not at all`() throws {
        #expect(ProcessServices.write("", to: path) == nil)
        #expect(try ProcessServices.readWhole(path).isEmpty)
        _ = ProcessServices.write(String(repeating: "x", count: 1 << 20), to: path)
        #expect(try ProcessServices.readWhole(path, limit: 1 << 20).count == 1 << 20)
        #expect(ProcessServices.read(path, limit: 7)?.count == 7)
        _ = ProcessServices.write("x", to: path, appending: true)
        let long = try #require(reason(path))
        #expect(long == ("it is longer than 1 MiB", false))
    }

    @Test func `an unreadable file is reported with the system's message`() throws {
        let missing = try #require(reason(path))
        #expect(missing == ("No such file or directory", true))
        let inside = try #require(reason("/tmp"))
        #expect(inside == ("Is a directory", false))
    }
}
