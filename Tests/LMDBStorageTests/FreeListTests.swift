import CLMDB
import Glibc
import TestThreads
import Testing

@testable import LMDBStorage

/// The list of free pages after a write that has freed many of them.
@Suite struct FreeListTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    private static let tables = [TableName("rows", .integers), TableName("history", .integers)]
    private static let versions = VersionLocation(table: tables[1], name: "versions") { _ in nil }

    private func open(isPlain: Bool = true) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(mapSize: 1 << 30, isPlain: isPlain),
            tables: Self.tables)
    }

    init() throws { folder = try TemporaryFolder() }

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
        for key in UInt64(0)..<16_000 {
            try write.handle.delete(lease.environment.tables[0], key)
        }
        try write.commit()
        for key in UInt64(0)..<20 { try put(key..<key + 1, bytes: 5_000, lease) }
    }

    /// Returns the number of records in the list, and the number of bytes of the longest one.
    private func records(_ lease: EnvironmentLease) throws -> (count: Int, longest: Int) {
        let read = try ReadTransaction(lease)
        var opened: OpaquePointer?
        #expect(mdb_cursor_open(read.handle.pointer, 0, &opened) == 0)
        let cursor = Cursor(try #require(opened), Unmanaged.passUnretained(lease.environment), 0)
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
        let lease = try open()
        #expect(lease.environment.latestVersion() == 2)
        try freeManyPages(lease)
        #expect(lease.environment.latestVersion() == 24)
        let (count, longest) = try records(lease)
        #expect(count > 14 && longest < lease.environment.pageSize)
        #expect(try lease.environment.freedBytes(after: [0])[0] > 7_800 * 4096)
        #expect(try lease.environment.freedBytes(after: [24])[0] == 0)
        #expect(try lease.environment.freedBytes(after: [21])[0] < 100 * 4096)
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `a file of an earlier build keeps its versions, and a copy of it has short records`()
        throws
    {
        do {
            let raw = try RawEnvironment(
                path, named: path, flags: MDB_NOLOCK, mapSize: 1 << 20, mode: 0o600)
            defer { raw.close() }
            try FileCreation.commit(raw.pointer, path) { (transaction) throws(StorageError) in
                _ = try FileCreation.open(
                    Self.tables, flags: MDB_CREATE, in: transaction, path: path)
            }
        }
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

    /// Writes random values, and removes some; the model follows.
    private func change(
        _ lease: EnvironmentLease, _ durability: Durability, count: Int, isCommitted: Bool = true,
        _ model: inout [UInt64: [UInt8]]
    ) throws {
        let write = try WriteTransaction(lease, durability: durability)
        var changed = model
        for _ in 0..<count {
            let key = UInt64.random(in: 0..<400)
            if Int.random(in: 0..<3) == 0 {
                try write.handle.delete(lease.environment.tables[0], key)
                changed[key] = nil
            } else {
                let value = [UInt8](
                    repeating: .random(in: 0...255), count: [3, 100, 900, 9000].randomElement()!)
                try value.withUnsafeBytes {
                    try write.handle.put(lease.environment.tables[0], key, $0)
                }
                changed[key] = value
            }
        }
        try [UInt8(1)].withUnsafeBytes {
            try write.handle.put(lease.environment.tables[1], write.handle.version, $0)
        }
        guard isCommitted else { return }
        try write.commit()
        model = changed
    }

    private func content(_ read: ReadTransaction) throws -> [UInt64: [UInt8]] {
        var content: [UInt64: [UInt8]] = [:]
        let cursor = try read.handle.cursor(read.environment.tables[0])
        var entry = try cursor.first()
        while let found = entry {
            content[found.integerKey] = [UInt8](found.value)
            entry = try cursor.next()
        }
        return content
    }

    @Test(arguments: [false, true])
    func `random writes of all sizes, readers, copies and compactions keep the list valid`(
        isPlain: Bool
    ) throws {
        var model: [UInt64: [UInt8]] = [:]
        var lease: EnvironmentLease? = try open(isPlain: isPlain)
        var readers: [(read: ReadTransaction, model: [UInt64: [UInt8]])] = []
        for step in 0..<120 {
            let durability = [Durability.full, .async, .memory].randomElement()!
            func current() throws -> EnvironmentLease { try #require(lease) }
            switch Int.random(in: 0..<12) {
            // The first write of the file is a large one.
            case 0...1,
                _ where step == 0:
                try change(try current(), durability, count: 3000, &model)
            case 2: try change(try current(), durability, count: 2000, isCommitted: false, &model)
            case 3: readers.append((try ReadTransaction(try current()), model))
            case 4...5:
                guard !readers.isEmpty else { continue }
                let (read, model) = readers.remove(at: .random(in: readers.indices))
                #expect(try content(read) == model)
            case 6 where readers.isEmpty:
                let version = try current().environment.latestVersion()
                lease = nil
                _ = try FileCompaction.compact(path: path, versions: Self.versions)
                lease = try self.open(isPlain: isPlain)
                #expect(lease?.environment.latestVersion() == version)
                try change(try current(), durability, count: .random(in: 1...4000), &model)
            case 7 where readers.isEmpty:
                lease = nil
                lease = try self.open(isPlain: isPlain)
            default: try change(try current(), durability, count: .random(in: 1...5), &model)
            }
            #expect(try content(try ReadTransaction(try current())) == model)
            #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
        }
    }
}
