import Glibc
import Testing

@testable import LMDBStorage

@Suite final class LockRegionTests {
    private let path = "/tmp/moonpool-lock-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    private let lease: EnvironmentLease
    private let file: Int32

    init() throws {
        lease = try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(), tables: [TableName("a", .integers)])
        // The descriptor is closed after the environment, because closing any descriptor of the file releases LMDB's
        // locks.
        file = open(path + "-lock", O_RDWR | O_CLOEXEC)
    }

    deinit {
        unlink(path)
        unlink(path + "-lock")
    }

    private func store<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        var number = number
        #expect(
            pwrite(file, &number, MemoryLayout<Number>.size, offset) == MemoryLayout<Number>.size)
    }

    @Test func `the lock region detects the owner of the write lock`() throws {
        let region = LockRegion(of: path)
        #expect(!region.isTaken)
        let write = try WriteTransaction(lease, durability: .memory)
        #expect(region.isTaken)
        write.abort()
        #expect(!region.isTaken)
    }

    @Test func `the lock region distinguishes readers of this process from others`() throws {
        let region = LockRegion(of: path)
        let readers = try (0..<3).map { _ in try ReadTransaction(lease) }
        #expect(!region.isShared)
        // The fourth reader, of another process.
        store(UInt32(4), at: 56)
        store(UInt32(1), at: 128 + 3 * 64 + 8)
        #expect(region.isShared)
        store(UInt32(0), at: 128 + 3 * 64 + 8)
        #expect(!region.isShared)
        withExtendedLifetime(readers) {}
    }

    @Test func `the lock region ignores a number of readers that exceeds the file`() throws {
        let region = LockRegion(of: path)
        store(UInt32.max, at: 56)
        #expect(!region.isShared)
        store(UInt32(1), at: 56)
    }

    @Test
    func `a lock file of another layout counts as one with readers and without a writer`() throws {
        store(UInt32(7), at: 4)
        let region = LockRegion(of: path)
        let write = try WriteTransaction(lease, durability: .memory)
        #expect(!region.isTaken)
        #expect(region.isShared)
        write.abort()
        region.callOthers()
    }

    @Test func `the lock region signals other processes only if they exist`() throws {
        let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        defer { close(watch) }
        #expect(lease.environment.commitSignalPath == path + "-lock")
        #expect(inotify_add_watch(watch, path + "-lock", UInt32(IN_ACCESS)) >= 0)
        func callsOfCommit() throws -> Int {
            let write = try WriteTransaction(lease, durability: .memory)
            try [UInt8](1...3).withUnsafeBytes {
                try write.handle.put(lease.environment.tables[0], 1, $0)
            }
            try write.commit()
            var reports = [inotify_event](repeating: inotify_event(), count: 16)
            let count = read(watch, &reports, 16 * MemoryLayout<inotify_event>.size)
            return max(count, 0) / MemoryLayout<inotify_event>.size
        }
        #expect(try callsOfCommit() == 0)
        store(UInt32(9), at: 56)
        store(UInt32(1), at: 128 + 8 * 64 + 8)
        #expect(try callsOfCommit() == 1)
        store(UInt32(0), at: 128 + 8 * 64 + 8)
        #expect(try callsOfCommit() == 0)
    }
}
