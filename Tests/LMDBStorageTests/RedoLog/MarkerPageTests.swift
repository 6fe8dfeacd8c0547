import Glibc
import Testing

@testable import LMDBStorage

extension LogTests {
    @Suite struct MarkerPageTests {
        @Test func `the page shows a write to the file immediately`() throws {
            let path = "/tmp/moonpool-marker-\(getpid())-\(UInt64.random(in: 0 ... .max))"
            let writer = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            try #require(writer >= 0)
            let reader = Glibc.open(path, O_RDONLY | O_CLOEXEC)
            defer {
                close(writer)
                close(reader)
                unlink(path)
            }
            try #require(ftruncate(writer, 8192) == 0)
            let page = MarkerPage(reader)
            #expect(try page.marker == LogMarker())
            for number in UInt64(1)...100 {
                let marker = LogMarker(
                    id: number, salt: number &* 3, boot: .present, device: number &* 5,
                    inode: number &* 7)
                #expect(marker.write(writer))
                #expect(try page.marker == marker)
                #expect(try LogMarker.read(reader) == marker)
            }
            #expect(LogMarker().write(writer))
            #expect(try page.marker == LogMarker())
        }

        @Test func `a marker that cannot be read is an error`() throws {
            // A pipe can neither be mapped nor be read at an offset.
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            defer { for end in ends { close(end) } }
            #expect(throws: StorageError.self) { try MarkerPage(ends[0]).marker }
        }
    }
}
