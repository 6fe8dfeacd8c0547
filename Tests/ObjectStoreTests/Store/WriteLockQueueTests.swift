import ColumnStorage
import Glibc
import ObjectStore
import Synchronization
import TestThreads
import Testing

private final class Counts: Sendable {
    private let counts = Mutex([Int](repeating: 0, count: 8))
    var all: [Int] { counts.withLock { $0 } }
    func add(_ number: Int) { counts.withLock { $0[number] += 1 } }
}

/// Queued writes while another thread of the process writes.
@Suite struct WriteLockQueueTests {
    private static let classes = [ClassSchema("Entry", "id: int primary")]
    private let folder = TemporaryFolder()
    private let scheduler = ManualScheduler()

    private func open(_ scheduler: ManualScheduler) throws -> Store {
        try Store.file(folder.file("a.moonpool"), Self.classes, on: scheduler)
    }

    /// A thread with an open write.
    private final class Writer: Sendable {
        private enum Stage { case begun, ending, ended }
        private let stage = Mutex<Stage?>(nil)

        /// Returns when the write is open.
        init(_ path: String, isCommit: Bool) {
            RunningThread { [self] in
                let configuration = StoreConfiguration(
                    .file(path), schema: WriteLockQueueTests.classes)
                do {
                    let store = try Store(configuration, scheduler: ManualScheduler())
                    try store.beginWrite()
                    try store.create("Entry", .list([.int(1000)]))
                    move(to: .begun)
                    wait(for: .ending)
                    if isCommit { try store.commitWrite() } else { try store.cancelWrite() }
                    store.close()
                } catch { Issue.record(error) }
                move(to: .ended)
            }
            wait(for: .begun)
        }

        private func move(to next: Stage) { stage.withLock { $0 = next } }
        private func wait(for wanted: Stage) {
            while stage.withLock({ $0 != wanted }) { sched_yield() }
        }

        func end() {
            move(to: .ending)
            wait(for: .ended)
        }
    }

    @Test(arguments: [true, false])
    func `queued writes wait without blocking the thread, and run in order`(isCommit: Bool) throws {
        let store = try open(scheduler)
        let writer = Writer(folder.file("a.moonpool"), isCommit: isCommit)
        var order: [Int64] = []
        for id in 1...3 {
            try store.writeAsync({
                order.append(Int64(id))
                try store.create("Entry", .list([.int(Int64(id))]))
            }) { #expect($0 == nil) }
        }
        scheduler.settle()
        scheduler.settle()
        #expect(order == [])
        writer.end()
        scheduler.settle(until: { order.count == 3 })
        #expect(order == [1, 2, 3])
        #expect(try store.objects("Entry").count() == (isCommit ? 4 : 3))
    }

    @Test func `a write that waits too long throws and names the writer`() throws {
        let store = try open(scheduler)
        let writer = Writer(folder.file("a.moonpool"), isCommit: false)
        let error = storeError(.timedOut) { try store.write(timeout: 0.05) {} }
        #expect(error?.message.contains("another part of this process is writing") == true)
        #expect(!store.isInWrite)
        writer.end()
        try store.write(timeout: 0) { try store.create("Entry", .list([.int(1)])) }
        #expect(try store.objects("Entry").count() == 1)
    }

    @Test func `an unused ticket lapses, and can be requested again`() throws {
        let store = try open(scheduler)
        let second = try open(ManualScheduler())
        let writer = Writer(folder.file("a.moonpool"), isCommit: false)
        var hasRun = false
        try store.writeAsync({ hasRun = true }) { #expect($0 == nil) }
        scheduler.settle()
        writer.end()
        // The thread waits for the lock, which its own queued write has acquired in the meantime.
        try second.write { try second.create("Entry", .list([.int(1)])) }
        #expect(!hasRun)
        scheduler.settle(until: { hasRun })
        #expect(hasRun)
        try store.refresh()
        #expect(try store.objects("Entry").count() == 1)
    }

    @Test func `closing a store releases its ticket`() throws {
        let store = try open(scheduler)
        let writer = Writer(folder.file("a.moonpool"), isCommit: true)
        var codes: [StoreError.Code?] = []
        try store.writeAsync({ Issue.record("must not run") }) {
            codes.append(($0 as? StoreError)?.code)
        }
        scheduler.settle()
        store.close()
        #expect(codes == [.closed])
        writer.end()
        let again = try open(ManualScheduler())
        try again.write { try again.create("Entry", .list([.int(1)])) }
        #expect(try again.objects("Entry").count() == 2)
        #expect(try again.verify() == [])
    }

    @Test func `the host can end a waiting write`() throws {
        struct Enough: Error {}
        var looks = 0
        let writer: Writer
        do {
            let first = try open(ManualScheduler())
            first.close()
            writer = Writer(folder.file("a.moonpool"), isCommit: true)
        }
        let store = try Store(
            StoreConfiguration(.file(folder.file("a.moonpool"))), scheduler: scheduler,
            whileWaiting: { _ in
                looks += 1
                if looks == 3 { throw Enough() }
            })
        #expect(throws: Enough.self) { try store.write { Issue.record("must not run") } }
        #expect(!store.isInWrite)
        writer.end()
        try store.write { try store.create("Entry", .list([.int(1)])) }
        #expect(try store.objects("Entry").count() == 2)
    }

    @Test func `Thousands of queued writes run in order, and the rest end with their store`() throws
    {
        let store = try open(scheduler)
        var order: [Int] = []
        var abandoned: [Int] = []
        for id in 0..<3000 {
            try store.writeAsync({ order.append(id) }) { error in
                if error != nil { abandoned.append(id) }
                guard id % 1000 == 999 else { return }
                // More writes are added to the queue while it is processed.
                do {
                    try store.writeAsync({ order.append(3000 + id / 1000) }) { _ in }
                } catch { Issue.record(error) }
            }
        }
        scheduler.settle(until: { order.count == 3003 })
        #expect(order == Array(0..<3003))
        for id in 0..<100 {
            try store.writeAsync({ order.append(id) }) { error in
                if (error as? StoreError)?.code == .closed { abandoned.append(id) }
            }
        }
        store.close()
        #expect(abandoned == Array(0..<100))
        #expect(order.count == 3003)
    }

    @Test func `Threads write in the order of their requests`() throws {
        let counts = Counts()
        let isDone = Flag()
        let first = try open(scheduler)
        let path = folder.file("a.moonpool")
        let threads = (0..<8).map { number in
            RunningThread {
                do {
                    let store = try Store.file(path)
                    while !isDone.isSet {
                        try store.write {}
                        counts.add(number)
                    }
                    store.close()
                } catch { Issue.record(error) }
            }
        }
        while counts.all.contains(0) { sched_yield() }
        let before = counts.all
        while zip(counts.all, before).contains(where: { $0 < $1 + 100 }) { sched_yield() }
        let done = zip(counts.all, before).map { $0 - $1 }
        isDone.set()
        for thread in threads { thread.wait() }
        first.close()
        // The lock itself gives a thread that is running up to a hundred turns in a row.
        #expect(done.allSatisfy { $0 < 300 }, "\(done)")
    }

    @Test(arguments: [false, true])
    func `A long wait is reported with the writer that has the lock`(isQueued: Bool) throws {
        let store = try open(scheduler)
        let reports = Mutex<[String]>([])
        store.lockUser = LockUser("the waiting one", patience: 1_000_000) { holder in
            reports.withLock { $0.append(holder) }
        }
        let holder = try open(ManualScheduler())
        holder.lockUser = LockUser("the holder")
        var hasRun = false
        if isQueued {
            try holder.beginWrite()
            try store.writeAsync({ hasRun = true }) { #expect($0 == nil) }
            scheduler.settle()
            while reports.withLock({ $0.isEmpty }) { sched_yield() }
            try holder.commitWrite()
            scheduler.settle(until: { hasRun })
        } else {
            let begun = Flag()
            let path = folder.file("a.moonpool")
            let thread = RunningThread {
                do {
                    let other = try Store(
                        StoreConfiguration(.file(path)), scheduler: ManualScheduler())
                    other.lockUser = LockUser("the holder")
                    try other.beginWrite()
                    begun.set()
                    while reports.withLock({ $0.isEmpty }) { sched_yield() }
                    try other.cancelWrite()
                    other.close()
                } catch { Issue.record(error) }
            }
            while !begun.isSet { sched_yield() }
            try store.write { hasRun = true }
            thread.wait()
        }
        #expect(hasRun)
        let all = reports.withLock { $0 }
        #expect(all.count == 1 && all.first?.hasPrefix("the holder, for ") == true, "\(all)")
        holder.close()
    }
}
