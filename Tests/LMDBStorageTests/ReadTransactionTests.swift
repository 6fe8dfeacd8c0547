import Glibc
import Synchronization
import TestThreads
import Testing

@testable import LMDBStorage

@Suite struct ReadTransactionTests {
    /// There are more readers than cores, so that readers are preempted at random points.
    private static let readers = 6

    /// Every commit writes its version to the file, so that each read returns a version.
    @Test func `a reader that is preempted at its begin reads its registered version`() throws {
        let path = "/tmp/moonpool-readers-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }
        let lease = try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(), tables: [TableName("a", .integers)])
        try Self.commit(lease)
        let count = Count()
        let threads = (0..<Self.readers).map { number in
            RunningThread {
                while !count.isOver.load(ordering: .relaxed) {
                    do {
                        let isRight =
                            number.isMultiple(of: 2)
                            ? try Self.begins(lease) : try Self.renews(lease)
                        if !isRight { count.wrong.add(1, ordering: .relaxed) }
                        count.reads.add(1, ordering: .relaxed)
                    } catch {
                        Issue.record(error)
                        return
                    }
                }
            }
        }
        let end = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end, count.wrong.load(ordering: .relaxed) == 0 {
            try Self.commit(lease)
        }
        count.isOver.store(true, ordering: .relaxed)
        for thread in threads { thread.wait() }
        #expect(count.wrong.load(ordering: .relaxed) == 0)
        #expect(count.reads.load(ordering: .relaxed) > 0)
    }

    @Test func `a reader begins again after a commit during its begin`() throws {
        let path = "/tmp/moonpool-readers-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        defer { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }
        let lease = try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(), tables: [TableName("a", .integers)])
        try Self.commit(lease)
        let reserved = try ReadTransaction(reserving: lease)
        for isRenewal in [false, true] {
            let version = lease.environment.latestVersion()
            let commits = Count()
            BeginProbe.installed.withLock {
                $0 = BeginProbe { environment in
                    // Meanwhile, readers of the files of other tests begin, and the renewed reader begins too.
                    guard environment === lease.environment,
                        commits.reads.exchange(1, ordering: .relaxed) == 0
                    else { return }
                    do { for _ in 0..<2 { try Self.commit(lease) } } catch { Issue.record(error) }
                }
            }
            defer { BeginProbe.installed.withLock { $0 = nil } }
            let read = isRenewal ? reserved : try ReadTransaction(lease)
            if isRenewal { try read.renew() }
            #expect(read.version == version + 2)
            #expect(try Self.isRight(read, lease))
        }
    }

    private final class Count: Sendable {
        let isOver = Atomic(false)
        let wrong = Atomic(0)
        let reads = Atomic(0)
    }

    private static func commit(_ lease: EnvironmentLease) throws {
        let write = try WriteTransaction(lease, durability: .memory)
        try withUnsafeBytes(of: write.handle.version) {
            try write.handle.put(lease.environment.tables[0], 1, $0)
        }
        try write.commit()
    }

    private static func begins(_ lease: EnvironmentLease) throws -> Bool {
        try isRight(ReadTransaction(lease), lease)
    }

    private static func renews(_ lease: EnvironmentLease) throws -> Bool {
        let read = try ReadTransaction(reserving: lease)
        try read.renew()
        guard try isRight(read, lease) else { return false }
        try read.renew()
        return try isRight(read, lease)
    }

    private static func isRight(_ read: ReadTransaction, _ lease: EnvironmentLease) throws -> Bool {
        let found = try read.handle.get(lease.environment.tables[0], 1)
        return found?.loadUnaligned(as: UInt64.self) == read.version
    }
}
