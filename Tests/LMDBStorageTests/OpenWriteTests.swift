import Glibc
import MemoryAccounts
import Synchronization
import TestThreads
import Testing

@testable import LMDBStorage

/// The bound of the open write, and the notifications before LMDB moves changed pages.
@Suite struct OpenWriteTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }

    private static let tables = [TableName("a", .integers), TableName("b", .bytes)]

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    init() throws { folder = try TemporaryFolder() }

    private static func put(_ write: WriteTransaction, _ key: UInt64, _ count: Int) throws {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: count)
        try value.withUnsafeBytes {
            try write.handle.put(write.environment.tables[0], key, $0)
        }
    }

    private static func count(_ lease: EnvironmentLease) throws -> Int {
        let read = try ReadTransaction(lease)
        return try read.handle.statistics(lease.environment.tables[0]).entries
    }

    @Test func `a second write on the same thread is refused`() throws {
        let lease = try open()
        let write = try WriteTransaction(lease, durability: .full)
        #expect(throws: StorageError(.writeInProgress, call: "begin write", file: path)) {
            _ = try WriteTransaction(lease, durability: .full)
        }
        write.abort()
    }

    @Test(arguments: [100, 3000, 60_000])
    func `a write that takes more than its script may fails and is rolled back`(size: Int) throws {
        try MemoryAccount.$current.withValue(MemoryAccount(limit: 1 << 20)) {
            let lease = try open()
            let first = try WriteTransaction(lease, durability: .full)
            for key in UInt64(0)..<3 { try Self.put(first, key, size) }
            try first.commit()
            let write = try WriteTransaction(lease, durability: .full)
            var bytes = 0
            let error = #expect(throws: StorageError.self) {
                for key in UInt64(3)..<100_000 {
                    try Self.put(write, key, size)
                    bytes += size
                }
            }
            #expect(error?.code == .memoryLimit)
            #expect(bytes <= 1 << 20)
            #expect(bytes > 1 << 18)
            // A caller that ignores the error cannot commit a part of the write.
            #expect(throws: StorageError.self) { try Self.put(write, 5, 1) }
            let refused = #expect(throws: StorageError.self) { try write.commit() }
            #expect(refused?.code == .memoryLimit)
            #expect(!lease.environment.isLocked)
            #expect(try Self.count(lease) == 3)
            let next = try WriteTransaction(lease, durability: .full)
            try Self.put(next, 3, size)
            try next.commit()
            #expect(try Self.count(lease) == 4)
        }
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `a write that changes a few pages often takes only their memory, if it is measured`()
        throws
    {
        let lease = try open()
        let first = try WriteTransaction(lease, durability: .full)
        for key in UInt64(0)..<20_000 { try Self.put(first, key, 100) }
        try first.commit()
        func change(_ account: MemoryAccount) throws {
            account.beginMeasuring()
            try MemoryAccount.$current.withValue(account) {
                let write = try WriteTransaction(lease, durability: .full)
                for key in UInt64(0)..<20_000 { try Self.put(write, key % 10, 100) }
                try write.commit()
            }
        }
        try change(MemoryAccount(limit: 1 << 20, measure: { 0 }))
        let calls = Atomic(0)
        let full = MemoryAccount(
            limit: 1 << 20,
            measure: { calls.add(1, ordering: .relaxed).newValue > 2 ? 2 << 20 : 0 })
        #expect(throws: StorageError.self) { try change(full) }
    }

    @Test func `a write that is rolled back in a second environment fails at the limit`() throws {
        let account = MemoryAccount(limit: 16 << 20)
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

    @Test func `a file in memory takes at maximum the limit of the script that writes it`() throws {
        let account = MemoryAccount(limit: 16 << 20)
        let lease = try EnvironmentRegistry.open(
            AnonymousFile(), named: "memory", options: EnvironmentOptions(), tables: Self.tables)
        try MemoryAccount.$current.withValue(account) {
            let write = try WriteTransaction(lease, durability: .memory)
            for key in UInt64(0)..<1000 { try Self.put(write, key, 3000) }
            try write.commit()
            let next = try WriteTransaction(lease, durability: .memory)
            let error = #expect(throws: StorageError.self) {
                for key in UInt64(1000)..<10_000 { try Self.put(next, key, 3000) }
            }
            #expect(error?.code == .memoryLimit)
            next.abort()
        }
        #expect(try Self.count(lease) == 1000)
    }

    /// LMDB writes pages before the commit when 131,071 have changed.
    @Test func `owners of addresses are notified before LMDB writes pages early`() throws {
        let lease = try open()
        let table = lease.environment.tables[1]
        let write = try WriteTransaction(lease, durability: .memory)
        var address: UnsafeRawPointer?
        var isNotified = false
        write.whenPagesMove({ isNotified = true })
        let key: [UInt8] = [1]
        try key.withUnsafeBytes { try write.handle.put(table, $0, $0) }
        try key.withUnsafeBytes { address = try write.handle.get(table, $0)?.baseAddress }
        var moved: Int?
        for number in UInt64(0)..<140_000 {
            try Self.put(write, number, 2000)
            // The table has not changed.
            if number % 500 == 0, !isNotified {
                let present = try key.withUnsafeBytes {
                    try write.handle.get(table, $0)?.baseAddress
                }
                if present != address { moved = Int(number) }
            }
        }
        #expect(isNotified)
        #expect(moved == nil)
        write.abort()
    }
}
