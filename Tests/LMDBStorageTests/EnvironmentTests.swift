import Glibc
import Testing

@testable import LMDBStorage

@Suite struct EnvironmentTests {
    let path = "/tmp/moonpool-environment-\(getpid())-\(UInt64.random(in: 0 ... .max))"

    private func open(_ options: EnvironmentOptions = EnvironmentOptions()) throws
        -> EnvironmentLease
    {
        try EnvironmentRegistry.open(
            path: path, options: options, tables: [TableName("a", .integers)])
    }

    private func remove() {
        unlink(path)
        unlink(path + "-lock")
    }

    @Test func `a file has one shared environment`() throws {
        defer { remove() }
        let first = try open()
        let second = try open()
        #expect(first.environment === second.environment)
    }

    @Test func `committed changes are kept, and uncommitted ones discarded`() throws {
        defer { remove() }
        let lease = try open()
        let table = lease.environment.tables[0]
        let write = try WriteTransaction(lease, durability: .full)
        try [UInt8]("one".utf8).withUnsafeBytes { try write.handle.put(table, 1, $0) }
        try write.commit()
        let dropped = try WriteTransaction(lease, durability: .full)
        try [UInt8]("two".utf8).withUnsafeBytes { try dropped.handle.put(table, 2, $0) }
        dropped.abort()
        let read = try ReadTransaction(lease)
        #expect(try read.handle.get(table, 1)?.count == 3)
        #expect(try read.handle.get(table, 2) == nil)
        let cursor = try read.handle.cursor(table)
        #expect(try cursor.setRange(0)?.integerKey == 1)
        #expect(try cursor.next() == nil)
    }

    @Test func `a second write on the same thread is refused`() throws {
        defer { remove() }
        let lease = try open()
        let write = try WriteTransaction(lease, durability: .full)
        #expect(throws: StorageError(.writeInProgress, call: "begin write", file: path)) {
            _ = try WriteTransaction(lease, durability: .full)
        }
        write.abort()
    }
}
