import Glibc
import Synchronization

/// Reports the calls of an observer's thread to the waiting thread.
final class Calls: Sendable {
    private let count = Atomic(0)
    private let rows = Atomic(0)
    private let moment = Atomic<UInt64>(0)
    private let signal = Signal()

    /// The number of calls.
    var number: Int { count.load(ordering: .acquiring) }

    /// The number of rows in all calls.
    var allRows: Int { rows.load(ordering: .acquiring) }

    func add(_ changedRows: Int) {
        moment.store(nanoseconds(), ordering: .releasing)
        rows.add(changedRows, ordering: .relaxed)
        count.add(1, ordering: .releasing)
        signal.raise()
    }

    /// Waits for this many calls.
    ///
    /// Returns the time of the last one.
    ///
    /// Sleeps in the meantime, because polling would take the processor that the observer needs.
    func wait(for expected: Int) throws -> UInt64 {
        let deadline = nanoseconds() + 10_000_000_000
        while number < expected {
            guard signal.wait(until: deadline) else {
                throw BenchmarkError("no callback in ten seconds")
            }
        }
        return moment.load(ordering: .acquiring)
    }
}
