import Glibc
import TestThreads
import Testing

@testable import LMDBStorage

/// Durability of LMDB without a log.
@Suite struct PlainCommitTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("store") }
    private static let tables = [TableName("numbers", .integers)]

    private func open(isPlain: Bool) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(isPlain: isPlain), tables: Self.tables)
    }

    init() throws { folder = try TemporaryFolder() }

    private func commit(
        _ lease: EnvironmentLease, _ number: UInt64, _ durability: Durability
    ) throws {
        let write = try WriteTransaction(lease, durability: durability)
        try [UInt8(truncatingIfNeeded: number)].withUnsafeBytes {
            try write.handle.put(lease.environment.tables[0], number, $0)
        }
        try write.commit()
    }

    @Test(arguments: [Durability.full, .async, .memory])
    func `commits survive reopening, without a log`(durability: Durability) throws {
        do {
            let lease = try open(isPlain: true)
            #expect(lease.environment.log == nil)
            for number in UInt64(1)...40 {
                try commit(lease, number, durability)
                #expect(access(path + "-log", F_OK) != 0)
            }
            let dropped = try WriteTransaction(lease, durability: durability)
            for number in UInt64(1)...40 {
                try dropped.handle.delete(lease.environment.tables[0], number)
            }
            dropped.abort()
        }
        #expect(try keys(open(isPlain: false)) == Array(1...40))
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `both commit modes can alternate on one file`() throws {
        for round in UInt64(0)..<6 {
            let lease = try open(isPlain: round % 2 == 1)
            lease.environment.log?.pace.threshold = 0
            for number in 1...10 { try commit(lease, round * 10 + UInt64(number), .full) }
        }
        #expect(try keys(open(isPlain: true)) == Array(1...60))
    }
}
