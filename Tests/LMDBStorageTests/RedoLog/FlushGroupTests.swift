import Synchronization
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

@Suite struct FlushGroupTests {
    /// A device on which a flush ends only when the test says so.
    private final class Device: Sendable {
        private let monitor = Monitor()
        // Guarded by the monitor.
        nonisolated(unsafe) private var begun = 0
        nonisolated(unsafe) private var results: [Int32] = []

        /// The number of flushes that have begun.
        var count: Int { monitor.withLock { begun } }

        func flush() -> Int32 {
            monitor.withLock {
                begun += 1
                while results.isEmpty { monitor.wait() }
                return results.removeFirst()
            }
        }

        /// Ends a flush with the system's error, or 0.
        func end(_ code: Int32 = 0) {
            monitor.withLock {
                results.append(code)
                monitor.broadcast()
            }
        }
    }

    private let group = FlushGroup()
    private let device = Device()

    /// The result of a writer that waits on a thread of its own.
    private final class Writer: Sendable {
        /// The system's error, or 0; negative while the writer waits.
        let code = Atomic<Int32>(-1)
        var result: Int32 { code.load(ordering: .relaxed) }
    }

    private func write(isCommitted: Bool = true) -> Writer {
        let writer = Writer()
        let record = group.append(1)
        RunningThread { [group, device] in
            let code = group.wait(for: record, isCommitted: isCommitted) { device.flush() }
            writer.code.store(code, ordering: .relaxed)
        }
        return writer
    }

    @Test func `one flush covers all records that were appended while another was under way`()
        async throws
    {
        let first = write()
        #expect(try await eventually { device.count == 1 })
        let others = (0..<3).map { _ in write() }
        #expect(group.isInUse)
        device.end()
        #expect(try await eventually { first.result == 0 && device.count == 2 })
        #expect(others.allSatisfy { $0.result < 0 })
        device.end()
        #expect(try await eventually { others.allSatisfy { $0.result == 0 } })
        #expect(device.count == 2 && !group.isInUse && !group.isBroken)
    }

    @Test func `a failed flush concerns all records up to then, until the log begins again`()
        async throws
    {
        let first = write()
        #expect(try await eventually { device.count == 1 })
        let second = write()
        device.end(5)
        #expect(try await eventually { first.result == 5 && second.result == 5 })
        #expect(group.isBroken && !group.isInUse)
        group.reset()
        #expect(!group.isBroken)
        let third = write()
        device.end()
        #expect(try await eventually { third.result == 0 })
    }

    @Test func `a record whose commit is not visible yet does not break the log`() async throws {
        let only = write(isCommitted: false)
        device.end(28)
        #expect(try await eventually { only.result == 28 })
        #expect(!group.isBroken)
    }

    @Test func `writers that alternate share flushes, and a single one soon does not`() {
        let turns = Mutex(WriterTurns())
        func areShared(_ version: UInt64) -> Bool { turns.withLock { $0.areShared(at: version) } }
        #expect(!areShared(1), "the first commit of a process")
        #expect(!areShared(2))
        #expect(areShared(4), "another process has committed version 3")
        for version in UInt64(5)..<12 { #expect(areShared(version)) }
        #expect(!areShared(12))
    }

    @Test func `threads of one process that alternate share flushes`() {
        let turns = Mutex(WriterTurns())
        _ = turns.withLock { $0.areShared(at: 1) }
        let isShared = Atomic<Bool>(false)
        let other = RunningThread {
            isShared.store(turns.withLock { $0.areShared(at: 2) }, ordering: .relaxed)
        }
        other.wait()
        let found = isShared.load(ordering: .relaxed)
        #expect(found)
    }
}
