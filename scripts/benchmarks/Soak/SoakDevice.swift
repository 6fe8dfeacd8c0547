import Glibc
import Synchronization

/// How long the device takes: a small file of its own, written and flushed ten times a second.
///
/// A store cannot use pages again that a checkpoint has let go of before the device has that checkpoint, and after a
/// thousand commits the next one waits for it; so a file that grows and a late delivery may be the device's doing.
final class SoakDevice: Sendable {
    private let slowest = Atomic<UInt64>(0)
    private let slowestOfAll = Atomic<UInt64>(0)
    private let isEnded = Atomic(false)

    /// The longest flush since this was asked for the last time, in milliseconds.
    func takeSlowest() -> Double {
        Double(slowest.exchange(0, ordering: .relaxed)) / 1e6
    }

    /// The longest flush, in milliseconds.
    var slowestSoFar: Double { Double(slowestOfAll.load(ordering: .relaxed)) / 1e6 }

    func start(_ folder: String) throws -> Thread {
        let path = "\(folder)/device"
        let file = open(path, O_CREAT | O_RDWR, 0o644)
        guard file >= 0 else { throw BenchmarkError("soak: cannot make \(path)") }
        return Thread {
            let page = [UInt8](repeating: 1, count: 4096)
            while !self.isEnded.load(ordering: .relaxed) {
                let start = nanoseconds()
                _ = page.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
                fdatasync(file)
                let time = nanoseconds() - start
                self.slowest.max(time, ordering: .relaxed)
                self.slowestOfAll.max(time, ordering: .relaxed)
                usleep(100_000)
            }
            close(file)
        }
    }

    /// Lets the thread end.
    func end() { isEnded.store(true, ordering: .relaxed) }
}
