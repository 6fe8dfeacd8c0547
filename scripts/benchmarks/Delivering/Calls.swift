import Glibc
import Synchronization

/// What the observer's thread reports to the one that waits for it.
final class Calls: Sendable {
    private let count = Atomic(0)
    private let rows = Atomic(0)
    private let moment = Atomic<UInt64>(0)
    private let signal = Signal()

    /// How many calls there were.
    var number: Int { count.load(ordering: .acquiring) }

    /// How many rows they were about, all together.
    var allRows: Int { rows.load(ordering: .acquiring) }

    func add(_ changedRows: Int) {
        moment.store(nanoseconds(), ordering: .releasing)
        rows.add(changedRows, ordering: .relaxed)
        count.add(1, ordering: .releasing)
        signal.raise()
    }

    /// Waits until there have been so many calls; the moment of the last one.
    ///
    /// Sleeps until then: whoever looks again and again needs the processor that the observer runs on.
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
