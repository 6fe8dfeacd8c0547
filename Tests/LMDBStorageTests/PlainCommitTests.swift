import Glibc
import Testing

@testable import LMDBStorage

/// Durability of LMDB without a log.
@Suite struct PlainCommitTests {
    let path = "/tmp/moonpool-plain-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    private static let tables = [TableName("numbers", .integers)]

    private func open(isPlain: Bool) throws -> EnvironmentLease {
        try EnvironmentRegistry.open(
            path: path, options: EnvironmentOptions(isPlain: isPlain), tables: Self.tables)
    }

    private func remove() { for suffix in ["", "-lock", "-log"] { unlink(path + suffix) } }

    private func commit(
        _ lease: EnvironmentLease, _ number: UInt64, _ durability: Durability
    ) throws {
        let write = try WriteTransaction(lease, durability: durability)
        try [UInt8(truncatingIfNeeded: number)].withUnsafeBytes {
            try write.handle.put(lease.environment.tables[0], number, $0)
        }
        try write.commit()
    }

    private func numbers(_ lease: EnvironmentLease) throws -> [UInt64] {
        let read = try ReadTransaction(lease)
        let cursor = try read.handle.cursor(lease.environment.tables[0])
        var found: [UInt64] = []
        var entry = try cursor.first()
        while let next = entry {
            found.append(next.integerKey)
            entry = try cursor.next()
        }
        return found
    }

    @Test(arguments: [Durability.full, .async, .memory])
    func `commits survive reopening, without a log`(
        durability: Durability
    ) throws {
        defer { remove() }
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
        #expect(try numbers(open(isPlain: false)) == Array(1...40))
        #expect(try PageVerifier.faults(path: path, atMost: 3) == [])
    }

    @Test func `both commit modes can alternate on one file`() throws {
        defer { remove() }
        for round in UInt64(0)..<6 {
            let lease = try open(isPlain: round % 2 == 1)
            lease.environment.log?.pace.threshold = 0
            for number in 1...10 { try commit(lease, round * 10 + UInt64(number), .full) }
        }
        #expect(try numbers(open(isPlain: true)) == Array(1...60))
    }
}
