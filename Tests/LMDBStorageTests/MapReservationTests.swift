import CLMDB
import Glibc
import TestThreads
import Testing

@testable import LMDBStorage

/// Files that are written through their map: each page must have space on the disk before LMDB writes to it.
@Suite(.serialized) struct MapReservationTests {
    /// The path of a new store, whose files are removed at the end.
    private final class NewPath: Sendable {
        let path =
            "\(MapReservationTests.folder)/moonpool-map-\(getpid())-\(UInt64.random(in: 0 ... .max))"

        deinit { for ending in ["", "-lock", "-log"] { unlink(path + ending) } }
    }

    private let new = NewPath()
    private var path: String { new.path }

    /// The usual folder if its file system overwrites files in place, otherwise a folder in memory.
    private static let folder: String = {
        let probe = "/tmp/moonpool-reservation-\(getpid())"
        close(Glibc.open(probe, O_RDWR | O_CREAT, 0o600))
        defer { unlink(probe) }
        return MapReservation.isSupported(probe, mapSize: 1, isShared: false) ? "/tmp" : "/dev/shm"
    }()

    private static let tables = [TableName("a", .integers), TableName("b", .bytes)]

    private func open() throws -> EnvironmentLease {
        let lease = try open(EnvironmentOptions(writesThroughMap: true))
        try #require(lease.environment.openWrite.reservation != nil)
        return lease
    }

    private func open(_ options: EnvironmentOptions) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(path: path, options: options, tables: Self.tables)
    }

    private var status: stat {
        var status = stat()
        stat(path, &status)
        return status
    }

    private var size: Int { Int(status.st_size) }

    private func put(_ lease: EnvironmentLease, _ keys: Range<UInt64>, count: Int) throws {
        let write = try WriteTransaction(lease, durability: .memory)
        for key in keys { try Self.put(write, key, count) }
        try write.commit()
    }

    private static func put(_ write: WriteTransaction, _ key: UInt64, _ count: Int) throws {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: count)
        try value.withUnsafeBytes {
            try write.handle.put(write.environment.tables[0], key, $0)
        }
    }

    private func check(
        _ lease: EnvironmentLease, _ keys: Range<UInt64>, count: Int, entries: Int? = nil
    ) throws {
        let read = try ReadTransaction(lease)
        let table = lease.environment.tables[0]
        #expect(try read.handle.statistics(table).entries == entries ?? keys.count)
        for key in keys {
            let value = try #require(try read.handle.get(table, key))
            #expect(value.count == count)
            #expect(value.allSatisfy { $0 == UInt8(truncatingIfNeeded: key) })
        }
    }

    @Test func `a file has the size of its content when closed, and is slightly larger while open`()
        throws
    {
        var lease: EnvironmentLease? = try open()
        try put(try #require(lease), 0..<5000, count: 100)
        let (used, _) = try #require(lease).environment.size()
        #expect(size >= used)
        #expect(size < used + 4 << 20)
        #expect(Int(status.st_blocks) * 512 >= size, "the disk has space for each page")
        #expect(try lease?.environment.space().total == used)
        lease = nil
        #expect(size == used)
        try check(try open(), 0..<5000, count: 100)
        #expect(size == used)
    }

    @Test func `a file keeps its data with every way of opening`() throws {
        try put(try open(), 0..<1000, count: 300)
        do {
            let plain = try open(EnvironmentOptions())
            #expect(plain.environment.openWrite.reservation == nil)
            try put(plain, 1000..<2000, count: 300)
            try check(plain, 0..<2000, count: 300)
        }
        try put(try open(), 2000..<3000, count: 300)
        try check(try open(), 0..<3000, count: 300)
        #expect(try PageVerifier.faultsAsItIs(path: path, atMost: 1).isEmpty)
    }

    @Test func `a write fills existing holes before it uses them`() throws {
        let lease = try open()
        try put(lease, 0..<10, count: 100)
        #expect(truncate(path, off_t(size + 1 << 20)) == 0)
        try put(lease, 10..<20, count: 100)
        let used = lease.environment.size().used
        #expect(Int(status.st_blocks) * 512 >= used)
        try check(lease, 0..<20, count: 100)
    }

    @Test func `a truncated and extended part is a hole too`() throws {
        let lease = try open()
        try put(lease, 0..<1000, count: 100)
        let whole = size
        #expect(truncate(path, off_t(lease.environment.size().used)) == 0)
        #expect(truncate(path, off_t(whole)) == 0)
        #expect(Int(status.st_blocks) * 512 < whole)
        let write = try WriteTransaction(lease, durability: .memory)
        let needed = lease.environment.size().used + 512 * 4096
        #expect(size >= needed)
        #expect(Int(status.st_blocks) * 512 >= needed)
        write.abort()
    }

    @Test func `rolling back a large write releases its space`() throws {
        let lease = try open()
        try put(lease, 0..<10, count: 100)
        let write = try WriteTransaction(lease, durability: .memory)
        for key in 10..<10_000 { try Self.put(write, UInt64(key), 4000) }
        #expect(size > 40 << 20)
        write.abort()
        try put(lease, 10..<20, count: 100)
        #expect(size < 4 << 20)
        try check(lease, 0..<20, count: 100)
    }

    @Test(arguments: [true, false])
    func `both ways of opening a file restore the size that a killed process has left`(
        isWritten: Bool
    ) throws {
        try put(try open(), 0..<100, count: 100)
        let before = size
        #expect(truncate(path, off_t(EnvironmentOptions.usualMapSize)) == 0)
        let lease = try open(EnvironmentOptions(writesThroughMap: isWritten))
        #expect(size < before + 4 << 20)
        try check(lease, 0..<100, count: 100)
        guard isWritten else { return }
        #expect(truncate(path, off_t(EnvironmentOptions.usualMapSize)) == 0)
        try put(lease, 100..<200, count: 100)
        #expect(size < before + 4 << 20)
        try check(lease, 0..<200, count: 100)
    }

    @Test func `a file is not written through its map if other maps can have another size`()
        throws
    {
        let usual = EnvironmentOptions.usualMapSize
        for mapSize in [1 << 20, 2 * usual, usual] {
            let lease = try open(EnvironmentOptions(mapSize: mapSize, writesThroughMap: true))
            #expect(lease.environment.openWrite.reservation == nil)
            try put(lease, 0..<10, count: 100)
        }
    }

    @Test func `a reader does not change the file's size`() throws {
        try put(try open(), 0..<10, count: 100)
        let before = size
        let lease = try open(EnvironmentOptions(readOnly: true, writesThroughMap: true))
        #expect(lease.environment.openWrite.reservation == nil)
        try check(lease, 0..<10, count: 100)
        #expect(size == before)
    }

    @Test func `registering a reader reserves no space`() throws {
        let lease = try open()
        let before = size
        let read = try ReadTransaction(lease)
        let value = [UInt8](repeating: 1, count: 10 << 20)
        #expect(throws: StorageError(rawCode: EACCES, call: "mdb_put", file: path)) {
            try value.withUnsafeBytes {
                try read.handle.put(lease.environment.tables[0], 1, $0)
            }
        }
        #expect(size == before)
    }

    @Test func `synchronous commits can share the reservation`() throws {
        var lease: EnvironmentLease? = try open()
        for number in 0..<300 {
            let durability: Durability =
                number % 7 == 3 ? .memory : number % 5 == 2 ? .async : .full
            let write = try WriteTransaction(try #require(lease), durability: durability)
            try Self.put(write, UInt64(number), 900)
            try write.commit()
        }
        try check(try #require(lease), 0..<300, count: 900)
        lease = nil
        #expect(try PageVerifier.faultsAsItIs(path: path, atMost: 1).isEmpty)
        try check(try open(), 0..<300, count: 900)
    }

    @Test func `a file of another program is unchanged`() throws {
        do {
            let foreign = try EnvironmentRegistry.open(
                path: path, options: EnvironmentOptions(mapSize: 1 << 30),
                tables: [TableName("theirs", .bytes)])
            let write = try WriteTransaction(foreign, durability: .full)
            let table = foreign.environment.tables[0]
            try [UInt8]("key".utf8).withUnsafeBytes { try write.handle.put(table, $0, $0) }
            try write.commit()
        }
        #expect(truncate(path, off_t(size + 5 * 4096)) == 0)
        let before = size
        #expect(throws: StorageError(.notAStore, call: "mdb_dbi_open", file: path)) {
            _ = try open()
        }
        #expect(size == before)
    }

    @Test func `a file that is truncated while open is an error`() throws {
        let lease = try open()
        try put(lease, 0..<1000, count: 100)
        #expect(truncate(path, 8 * 4096) == 0)
        #expect(
            throws: StorageError(.damaged, call: "shorter than its header declares", file: path)
        ) {
            _ = try WriteTransaction(lease, durability: .memory)
        }
        #expect(!lease.environment.isLocked)
    }

    @Test func `free pages can be missing at the end of a file of another program`() throws {
        let lease = try open()
        try put(lease, 0..<10, count: 100)
        try put(lease, 10..<1000, count: 1000)
        let write = try WriteTransaction(lease, durability: .memory)
        for key in 10..<1000 { try write.handle.delete(lease.environment.tables[0], UInt64(key)) }
        try write.commit()
        for _ in 0..<5 { try put(lease, 0..<10, count: 100) }
        let used = lease.environment.size().used
        #expect(truncate(path, off_t(used - 20 * 4096)) == 0)
        try put(lease, 10..<500, count: 1000)
        #expect(size >= lease.environment.size().used)
        try check(lease, 10..<500, count: 1000, entries: 500)
    }

    @Test func `a process with a file size limit opens the file without a writable map`() throws {
        try put(try open(), 0..<10, count: 100)
        var before = rlimit()
        let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        getrlimit(kind, &before)
        var limited = before
        limited.rlim_cur = 1 << 40
        setrlimit(kind, &limited)
        defer { setrlimit(kind, &before) }
        let lease = try open(EnvironmentOptions(writesThroughMap: true))
        #expect(lease.environment.openWrite.reservation == nil)
        try check(lease, 0..<10, count: 100)
    }

    #if DEBUG
        /// Simulates a full device for the suite's file beyond a size.
        private func limit(_ maximum: Int) {
            let path = path
            SpaceProbe.installed.withLock {
                $0 = SpaceProbe { file, size in file != path || size <= maximum }
            }
        }

        private func lift() { SpaceProbe.installed.withLock { $0 = nil } }

        @Test(arguments: [10, 2000, 20_000])
        func `a step without space is an error, and its write is discarded`(count: Int) throws {
            let lease = try open()
            try put(lease, 0..<20, count: count)
            limit(size + 800 * 4096)
            defer { lift() }
            let write = try WriteTransaction(lease, durability: .memory)
            #expect(throws: StorageError(rawCode: ENOSPC, call: "fallocate", file: path)) {
                for key in 20..<100_000 { try Self.put(write, UInt64(key), count) }
            }
            // All further steps fail, including smaller ones, and the write cannot be committed.
            let table = lease.environment.tables[0]
            #expect(throws: StorageError.self) { try write.handle.delete(table, 1) }
            #expect(throws: StorageError(rawCode: ENOSPC, call: "fallocate", file: path)) {
                try write.commit()
            }
            #expect(!lease.environment.isLocked)
            try check(lease, 0..<20, count: count)
            lift()
            try put(lease, 20..<40, count: count)
            try check(lease, 0..<40, count: count)
        }

        @Test func `a write without space at its beginning is an error`() throws {
            let lease = try open()
            try put(lease, 0..<20, count: 100)
            // Another process has enlarged the file, so its space is determined again.
            #expect(truncate(path, off_t(size + 4096)) == 0)
            limit(4096)
            defer { lift() }
            #expect(throws: StorageError(rawCode: ENOSPC, call: "fallocate", file: path)) {
                _ = try WriteTransaction(lease, durability: .memory)
            }
            #expect(!lease.environment.isLocked)
            lift()
            try put(lease, 20..<40, count: 100)
            try check(lease, 0..<40, count: 100)
        }

        @Test func `a lock file without space is an error`() throws {
            try put(try open(), 0..<20, count: 100)
            unlink(path + "-lock")
            let lock = path + "-lock"
            // One page has space for some readers.
            SpaceProbe.installed.withLock {
                $0 = SpaceProbe { file, size in file != lock || size <= 4096 }
            }
            try check(try open(), 0..<20, count: 100)
            unlink(lock)
            SpaceProbe.installed.withLock { $0 = SpaceProbe { file, _ in file != lock } }
            defer { lift() }
            for isWritten in [true, false] {
                #expect(throws: StorageError(rawCode: ENOSPC, call: "fallocate", file: path)) {
                    _ = try open(EnvironmentOptions(writesThroughMap: isWritten))
                }
            }
            lift()
            try check(try open(), 0..<20, count: 100)
        }

        @Test func `a new file without space is an error, and is removed`() throws {
            limit(4096)
            defer { lift() }
            #expect(throws: StorageError(rawCode: ENOSPC, call: "fallocate", file: path)) {
                _ = try open()
            }
            #expect(access(path, F_OK) != 0)
        }
    #endif

    @Test(arguments: 1...6)
    func `each written page has space on the device`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lease = try open()
        var held: [ReadTransaction] = []
        for _ in 0..<120 {
            let write = try WriteTransaction(lease, durability: .memory)
            let steps = random.next() % 8 == 0 ? 3000 : random.next() % 40
            for _ in 0..<steps { try change(write, &random) }
            if random.next() % 6 == 0 { write.abort() } else { try write.commit() }
            #expect(size >= lease.environment.size().used)
            #expect(Int(status.st_blocks) * 512 >= lease.environment.size().used)
            // Old versions keep pages from being used again, so that lists of free pages become long.
            if random.next() % 4 == 0 { held.append(try ReadTransaction(lease)) }
            if held.count > 6 || random.next() % 10 == 0 { held.removeAll() }
        }
        #expect(try PageVerifier.faults(path: path, atMost: 3, tables: Self.tables) == [])
    }

    /// The write that uses all of them changes each page of the list of free pages at its end.
    @Test func `a write that uses thousands of short lists of free pages has space`() throws {
        let lease = try open()
        try put(lease, 0..<2000, count: 300)
        do {
            let held = try ReadTransaction(lease)
            defer { withExtendedLifetime(held) {} }
            for number in 0..<2500 {
                let key = UInt64(number * 7 % 2000)
                try put(lease, key..<key + 1, count: 300)
            }
        }
        let used = lease.environment.size().used
        #expect(used > 20 << 20)
        try put(lease, 5000..<5000 + UInt64(used / 4096), count: 3000)
        #expect(size >= lease.environment.size().used)
        #expect(Int(status.st_blocks) * 512 >= lease.environment.size().used)
        try check(lease, 0..<2000, count: 300, entries: 2000 + used / 4096)
    }

    private func change(_ write: WriteTransaction, _ random: inout SeededGenerator) throws {
        let environment = write.environment
        let handle = write.handle
        let sizes: [UInt64] = [1, 40, 400, 2000, 2100, 9000, 60_000]
        let count = Int(random.next() % sizes[Int(random.next() % 7)])
        let value = [UInt8](repeating: 7, count: count)
        let number = random.next() % 4000
        let key = [UInt8](repeating: UInt8(number % 251), count: Int(1 + number % 500))
        try value.withUnsafeBytes { value in
            try key.withUnsafeBytes { key in
                switch random.next() % 40 {
                case 0..<14: try handle.put(environment.tables[0], number, value)
                case 14..<24: try handle.put(environment.tables[1], key, value)
                case 24..<28:
                    let buffer = try handle.reserve(environment.tables[0], number, count: count)
                    buffer.copyBytes(from: value)
                case 28..<33: try handle.delete(environment.tables[0], number)
                case 33..<37: try handle.delete(environment.tables[1], key)
                case 37, 38:
                    let cursor = try handle.cursor(environment.tables[0])
                    guard try cursor.setRange(number) != nil else { return }
                    for _ in 0..<20 {
                        try cursor.delete()
                        guard try cursor.next() != nil else { break }
                    }
                    try handle.put(environment.tables[0], number, value)
                default:
                    guard random.next() % 50 == 0 else { return }
                    let cursor = try handle.cursor(environment.tables[0])
                    while try cursor.first() != nil { try cursor.delete() }
                }
            }
        }
    }
}
