import CLMDB
import Glibc
import Testing

@testable import LMDBStorage

/// The list of free pages after a write that has freed many of them.
@Suite struct FreeListTests {
    let path = "/tmp/moonpool-free-list-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    private static let tables = [
        TableName("rows", .integers), TableName("history", .integers),
    ]
    private static let versions = VersionLocation(table: tables[1], name: "versions") { _ in nil }

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(mapSize: 1 << 30, isPlain: true),
            tables: Self.tables)
    }

    private func remove() { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }

    private func put(_ keys: Range<UInt64>, bytes count: Int, _ lease: EnvironmentLease) throws {
        let write = try WriteTransaction(lease, durability: .memory)
        let value = [UInt8](repeating: 7, count: count)
        for key in keys {
            try value.withUnsafeBytes {
                try write.handle.put(lease.environment.tables[0], key, $0)
            }
        }
        try write.commit()
    }

    /// Frees 8,000 pages in one write, and makes small writes until these pages are used.
    private func freeManyPages(_ lease: EnvironmentLease) throws {
        try put(0..<16_000, bytes: 1_900, lease)
        let write = try WriteTransaction(lease, durability: .memory)
        try write.handle.drop(lease.environment.tables[0])
        try write.commit()
        for key in UInt64(0)..<20 { try put(key..<key + 1, bytes: 5_000, lease) }
    }

    /// Returns the number of records in the list, and the number of bytes of the longest one.
    private func records(_ lease: EnvironmentLease) throws -> (count: Int, longest: Int) {
        let read = try ReadTransaction(lease)
        var opened: OpaquePointer?
        #expect(mdb_cursor_open(read.handle.pointer, 0, &opened) == 0)
        let cursor = Cursor(
            try #require(opened), Unmanaged.passUnretained(lease.environment), 0)
        var (count, longest) = (0, 0)
        var entry = try cursor.first()
        while let found = entry {
            count += 1
            longest = max(longest, found.value.count)
            entry = try cursor.next()
        }
        return (count, longest)
    }

    @Test func `a small commit after a large one writes a free page list of short records`() throws
    {
        defer { remove() }
        let lease = try open()
        #expect(lease.environment.latestVersion() == 1)
        try freeManyPages(lease)
        #expect(lease.environment.latestVersion() == 23)
        let (count, longest) = try records(lease)
        #expect(count > 14 && longest < lease.environment.pageSize)
        #expect(try lease.environment.freedBytes(after: [0])[0] > 7_800 * 4096)
        #expect(try lease.environment.freedBytes(after: [23])[0] == 0)
        #expect(try lease.environment.freedBytes(after: [20])[0] < 100 * 4096)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `a file of an earlier build keeps its versions, and a copy of it has short records`()
        throws
    {
        defer { remove() }
        do { _ = try open() }
        let file = Platform.openDescriptor(path, O_RDWR)
        for page in 0..<2 {
            var version = try #require(FileHeader.meta(file, at: page * 4096)).version
            #expect(
                pwrite(file, &version, 8, off_t(page * 4096 + FileHeader.pageHeaderSize + 128)) == 8
            )
        }
        close(file)
        do {
            let lease = try open()
            #expect(lease.environment.latestVersion() == 1)
            try freeManyPages(lease)
            #expect(lease.environment.latestVersion() == 23)
            #expect(try records(lease).longest > lease.environment.pageSize)
            let write = try WriteTransaction(lease, durability: .memory)
            try [UInt8(1)].withUnsafeBytes {
                try write.handle.put(lease.environment.tables[1], write.handle.version, $0)
            }
            try write.commit()
        }
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
        _ = try FileCompaction.compact(path: path, versions: Self.versions)
        let lease = try open()
        #expect(lease.environment.latestVersion() == 24)
        try freeManyPages(lease)
        #expect(try records(lease).longest < lease.environment.pageSize)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }
}
