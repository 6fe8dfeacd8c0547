import LMDBStorage
import TestThreads
import Testing

@testable import ColumnStorage

/// Blocks of integers; `IndexLevelsTests` compares random writes with a model.
@Suite struct IntIndexTests {
    @Test(arguments: [0, 1, 4, 5, 600] as [Int64])
    func `ascending entries are appended after any others`(first: Int64) throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        let write = try environment.beginWrite()
        for key in 0..<first { try index.insert(key, ObjectKey(key), in: write.handle) }
        try index.flush(in: write.handle)
        #expect(try index.isEmpty(in: write.handle) == (first == 0))
        for key in 0..<first where key % 2 == 0 {
            try index.remove(key, ObjectKey(key), in: write.handle)
        }
        // Runs of neighbors, and a gap after each.
        let added = (0..<Int64(3000)).map { 1000 + $0 + $0 / 700 }
        for value in added { try index.insert(value, ObjectKey(value), in: write.handle) }
        let expected = (0..<first).filter { $0 % 2 != 0 } + added
        #expect(try !index.isEmpty(in: write.handle))
        for _ in 0..<2 {
            let keys = try index.keys(from: nil, through: nil, in: write.handle)
            #expect(keys.map(\.rawValue) == expected)
            for value in [first, 999, 1000, 1699, 1700, 1701, 4003, 4004] {
                let found = try index.find(value, in: write.handle)
                #expect(found?.rawValue == (expected.contains(value) ? value : nil))
            }
            try index.flush(in: write.handle)
        }
    }

    @Test func `an integer index keeps any number of equal entries`() throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        let write = try environment.beginWrite()
        for _ in 0..<10_000 { try index.insert(5, ObjectKey(9), in: write.handle) }
        for key in 0..<2000 { try index.insert(5, ObjectKey(Int64(key)), in: write.handle) }
        try index.flush(in: write.handle)
        #expect(try index.count(in: write.handle) == 12_000)
        for _ in 0..<9_990 { try index.remove(5, ObjectKey(9), in: write.handle) }
        try index.flush(in: write.handle)
        let keys = try index.keys(equalTo: 5, in: write.handle)
        #expect(keys.count == 2010)
        #expect(keys.count { $0 == ObjectKey(9) } == 11)
    }

    @Test func `an integer index frees the space of removed entries`() throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        var generator = SeededGenerator(seed: 1)
        let values = (0..<8_000).map { _ in Int64.random(in: .min ... .max, using: &generator) }
        let write = try environment.beginWrite()
        for (key, value) in values.enumerated() {
            try index.insert(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        let full = try write.handle.statistics(environment.blocks).entries
        for (key, value) in values.enumerated() where key % 50 != 0 {
            try index.remove(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        #expect(try write.handle.statistics(environment.blocks).entries < full / 5)
        #expect(try index.count(in: write.handle) == 160)
        for (key, value) in values.enumerated() where key % 50 == 0 {
            try index.remove(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        #expect(try write.handle.statistics(environment.blocks).entries == 0)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `an integer index reports damaged blocks and never reads outside of them`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables()
        let index = IntIndex(table: TableID(1), column: ColumnID(1), tables: tables)
        let write = try environment.beginWrite()
        for key in 0..<Int64(300) {
            let value = Int64.random(in: 0...100_000, using: &generator)
            try index.insert(value, ObjectKey(key), in: write.handle)
        }
        try index.flush(in: write.handle)
        for _ in 0..<20 {
            let cursor = try write.handle.cursor(environment.blocks)
            let first = try #require(try cursor.first())
            let keyBytes = [UInt8](first.key)
            var bytes = [UInt8](first.value)
            let offset = Int.random(in: 0..<Swift.min(bytes.count, 24), using: &generator)
            bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            if Bool.random(using: &generator) { bytes.removeLast(3) }
            try keyBytes.withUnsafeBytes { keyBytes in
                try bytes.withUnsafeBytes { try write.handle.put(environment.blocks, keyBytes, $0) }
            }
            tables.invalidate()
            for _ in 0..<20 {
                let value = Int64.random(in: 0...100_000, using: &generator)
                _ = try? index.find(value, in: write.handle)
                _ = try? index.keys(from: value, through: value + 500, in: write.handle)
            }
        }
    }
}
