import Glibc
import SystemCalls
import TestThreads
import Testing

@testable import LMDBStorage

/// The lock file of a file can be removed only if no process has the file open.
@Suite struct LockFileRemovalTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    private static let tables = [TableName("a", .integers)]

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: EnvironmentOptions(), tables: Self.tables)
    }

    private var hasLockFile: Bool { access(path + "-lock", F_OK) == 0 }

    @Test func `the lock file of an open file stays`() throws {
        let lease = try open()
        LockFile.removeUnused(of: path)
        #expect(hasLockFile)
        withExtendedLifetime(lease) {}
    }

    @Test func `the lock file of a closed file is removed, and the file can be opened again`()
        throws
    {
        do { _ = try open() }
        #expect(hasLockFile)
        LockFile.removeUnused(of: path)
        #expect(!hasLockFile)
        do { _ = try open() }
        #expect(hasLockFile)
    }

    @Test func `without a store, no lock file is created`() {
        LockFile.removeUnused(of: path)
        #expect(!hasLockFile)
    }

    @Test func `a lock on a removed lock file is not valid`() throws {
        do { _ = try open() }
        let lock = try FileLock(of: path)
        // The holder removes the file before it releases the lock.
        unlink(path + "-lock")
        lock.release()
        let next = try FileLock(of: path)
        defer { next.release() }
        #expect(hasLockFile)
    }

    /// Opens and removes files alternately on several threads.
    ///
    /// With a removed lock file, two writers could run at the same time.
    @Test func `an open file always has its lock file while others try to remove it`() throws {
        do { _ = try open() }
        let path = path
        let removing = (0..<2).map { _ in
            RunningThread { for _ in 0..<100 { LockFile.removeUnused(of: path) } }
        }
        for _ in 0..<50 {
            let lease = try open()
            #expect(lease.environment.hasItsLockFile)
        }
        for thread in removing { thread.wait() }
    }

    @Test func `a work folder is removed with its files, and abandoned ones by the next`() throws {
        let abandoned = path + ".work-abcdefghijklmnop"
        mkdir(abandoned, 0o700)
        close(Platform.openDescriptor(abandoned + "/store", O_WRONLY | O_CREAT, 0o600))
        do {
            let work = try WorkFolder(beside: path)
            #expect(access(abandoned, F_OK) != 0)
            close(Platform.openDescriptor(work.path + "/store", O_WRONLY | O_CREAT, 0o600))
            // Its owner still uses it.
            let other = try WorkFolder(beside: path)
            #expect(access(work.path + "/store", F_OK) == 0)
            #expect(other.path != work.path)
        }
        #expect((ProcessServices.names(in: folder.path) ?? []).filter { $0.contains("work") } == [])
    }
}
