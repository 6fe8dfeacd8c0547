import Glibc
import Synchronization

/// Writes bytes to a FIFO in pieces, on its own thread.
final class PieceWriter: Sendable {
    let path: String
    private let folder: String
    private let thread: pthread_t

    /// Creates the FIFO; the thread waits for a reader.
    init(_ bytes: [UInt8], _ size: Int) throws {
        var template = Array("/tmp/moonpool-test-XXXXXX".utf8CString)
        let folder = template.withUnsafeMutableBufferPointer {
            String(cString: mkdtemp($0.baseAddress!))
        }
        self.folder = folder
        path = folder + "/pipe"
        guard mkfifo(path, 0o600) == 0 else { throw PieceError() }
        let work = Work(path: path, bytes: bytes, size: size)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        guard code == 0 else { throw PieceError() }
        self.thread = thread
    }

    /// Waits for the end of the thread and removes the FIFO.
    func wait() {
        pthread_join(thread, nil)
        unlink(path)
        rmdir(folder)
    }

    private struct PieceError: Error {}

    private final class Work: Sendable {
        let path: String
        let bytes: [UInt8]
        let size: Int

        init(path: String, bytes: [UInt8], size: Int) {
            self.path = path
            self.bytes = bytes
            self.size = size
        }

        func run() {
            let file = open(path, O_WRONLY | O_CLOEXEC)
            defer { close(file) }
            var start = 0
            while start < bytes.count {
                let end = min(start + size, bytes.count)
                let count = bytes[start..<end].withUnsafeBytes {
                    write(file, $0.baseAddress, $0.count)
                }
                guard count > 0 else { return }
                start += count
            }
        }
    }
}
