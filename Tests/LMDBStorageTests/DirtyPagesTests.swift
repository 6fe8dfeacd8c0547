import CLMDB
import Glibc
import MemoryAccounts
import Testing

@testable import LMDBStorage

/// The memory of changed pages, which LMDB keeps until the commit.
@Suite struct DirtyPagesTests {
    let path = "/tmp/moonpool-dirty-\(getpid())-\(UInt64.random(in: 0 ... .max))"

    private static let tables = [TableName("a", .integers), TableName("b", .bytes)]
    private static let limit = 16 << 20
    /// The largest memory of changed pages: an eighth of the capacity, and the steps of some changes.
    private static let most = (limit / 8 * 7) / 8 + (64 << 10)

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    private func remove() { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }

    private static func memory(_ write: WriteTransaction) -> Int {
        let transaction = write.handle.pointer
        return (shim_dirty_page_count(transaction) + shim_long_dirty_pages(transaction)) * 4096
    }

    private static func put(_ write: WriteTransaction, _ key: UInt64, _ count: Int) throws {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: count)
        try value.withUnsafeBytes {
            try write.handle.put(write.environment.tables[0], key, $0)
        }
    }

    private static func check(_ lease: EnvironmentLease, _ counts: [UInt64: Int]) throws {
        let read = try ReadTransaction(lease)
        let table = lease.environment.tables[0]
        #expect(try read.handle.statistics(table).entries == counts.count)
        for (key, count) in counts {
            let value = try #require(try read.handle.get(table, key))
            let isRight =
                value.count == count
                && value.allSatisfy { $0 == UInt8(truncatingIfNeeded: key) }
            guard isRight else {
                Issue.record("key \(key) has another value")
                return
            }
        }
    }

    @Test(arguments: [100, 3000, 60_000, 1 << 20])
    func `changed pages are written early when they take an eighth of the limit`(
        size: Int
    ) throws {
        defer { remove() }
        let account = MemoryAccount(limit: Self.limit)
        var random = SystemRandomNumberGenerator()
        var counts: [UInt64: Int] = [:]
        do {
            let lease = try open()
            for isCommitted in [true, false, true] {
                var changed = counts
                try MemoryAccount.$current.withValue(account) {
                    let write = try WriteTransaction(lease, durability: .full)
                    let table = lease.environment.tables[0]
                    var highest = 0
                    for _ in 0..<max(40, (24 << 20) / (size + 200)) {
                        // Half of the keys are replaced or removed later.
                        let key = random.next() % UInt64((16 << 20) / (size + 200) + 20)
                        if key % 5 == 0, changed[key] != nil {
                            try write.handle.delete(table, key)
                            changed[key] = nil
                        } else {
                            let count = Int.random(in: 0...size, using: &random)
                            try Self.put(write, key, count)
                            changed[key] = count
                        }
                        highest = max(highest, Self.memory(write))
                    }
                    #expect(highest <= Self.most + size)
                    #expect(account.bytes >= highest - size - (64 << 10))
                    if isCommitted { try write.commit() } else { write.abort() }
                }
                if isCommitted { counts = changed }
                try Self.check(lease, counts)
                #expect(account.bytes <= Self.limit / 8)
            }
        }
        #expect(account.bytes == 0)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
        try Self.check(open(), counts)
    }

    @Test func `a write succeeds in an account that is full`() throws {
        defer { remove() }
        let account = MemoryAccount(limit: Self.limit)
        account.record(account.capacity)
        let lease = try open()
        var counts: [UInt64: Int] = [:]
        try MemoryAccount.$current.withValue(account) {
            let write = try WriteTransaction(lease, durability: .async)
            var highest = 0
            for number in UInt64(0)..<20_000 {
                let key = number &* 0x9E37_79B9 % 1_000_003
                try Self.put(write, key, 200)
                counts[key] = 200
                highest = max(highest, Self.memory(write))
            }
            #expect(highest <= 1 << 20)
            // A value that is refused leaves the present one.
            try Self.put(write, 1, 3000)
            counts[1] = 3000
            #expect(throws: StorageError.self) { try Self.put(write, 1, 8 << 20) }
            try write.handle.drop(lease.environment.tables[1])
            try write.commit()
        }
        try Self.check(lease, counts)
        account.release(account.capacity)
    }

    @Test func `changed pages stay in memory without a limit`() throws {
        defer { remove() }
        let lease = try open()
        let write = try WriteTransaction(lease, durability: .full)
        for key in UInt64(0)..<1000 { try Self.put(write, key, 3000) }
        #expect(Self.memory(write) >= 1000 * 4096)
        try write.commit()
    }

    @Test func `a write that is rolled back in a second environment fails at the limit`() throws {
        defer { remove() }
        let account = MemoryAccount(limit: Self.limit)
        let lease = try open()
        let held = try ReadTransaction(lease)
        let scratch = try EnvironmentRegistry.openScratch(of: lease, tables: Self.tables)
        MemoryAccount.$current.withValue(account) {
            let error = #expect(throws: StorageError.self) {
                let write = try WriteTransaction(scratch, durability: .memory)
                for key in UInt64(0)..<10_000 { try Self.put(write, key, 3000) }
            }
            #expect(error?.code == .memoryLimit)
        }
        withExtendedLifetime(held) {}
    }
}
