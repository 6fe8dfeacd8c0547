import Glibc
import Synchronization

/// Measures the device's latency: a small separate file is written and flushed ten times a second.
///
/// A store can reuse the pages that a checkpoint released only once the device has that checkpoint, and after a
/// thousand commits the next one waits for it. So the device may cause a growing file or a late delivery.
final class SoakDevice: Sendable {
    private let slowest = Atomic<UInt64>(0)
    private let slowestOfAll = Atomic<UInt64>(0)
    private let isEnded = Atomic(false)

    /// Returns the longest flush since the last call, in milliseconds.
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

    /// Ends the thread.
    func end() { isEnded.store(true, ordering: .relaxed) }
}
