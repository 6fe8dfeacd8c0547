import LMDBStorage
import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct DeltaBufferTests {
    private let folder = TemporaryFolder()

    private func file() throws -> ColumnFile {
        try ColumnFile.open(path: folder.file(), options: FileOptions(durability: .memory))
    }

    /// One write: nodes with these keys and numbers of bytes, each filled with its key.
    private func write(_ nodes: [(DeltaBuffer.Home, UInt64, Int)], to file: ColumnFile) throws {
        let buffer = DeltaBufferStorage()
        let write = try WriteTransaction(file.lease(), durability: .memory)
        for (home, key, count) in nodes {
            let space = try buffer.reserve(home, key, count: count, file.tables, in: write.handle)
            #expect(space.count == count)
            space.initializeMemory(as: UInt8.self, repeating: UInt8(key % 251))
        }
        try buffer.store(in: write.handle)
        try write.commit()
    }

    private func waiting(_ file: ColumnFile) throws -> [UInt64] {
        let read = try ReadTransaction(file.lease())
        var keys: [UInt64] = []
        try DeltaBuffer.read(read.handle).forEach { _, key, node in
            keys.append(key)
            #expect(node.allSatisfy { $0 == UInt8(key % 251) })
        }
        return keys
    }

    private func stored(_ home: DeltaBuffer.Home, _ file: ColumnFile) throws -> [UInt64] {
        let read = try ReadTransaction(file.lease())
        let cursor = try read.handle.cursor(file.tables[home])
        var keys: [UInt64] = []
        var entry = try cursor.first()
        while let found = entry {
            keys.append(found.integerKey)
            #expect(found.value.allSatisfy { $0 == UInt8(found.integerKey % 251) })
            entry = try cursor.next()
        }
        return keys
    }

    @Test func `bytes that are not valid are refused`() {
        let node: [UInt8] = [2] + [UInt8](repeating: 7, count: 8) + [3, 0] + [1, 2, 3]
        #expect(node.withUnsafeBytes { DeltaBuffer($0) } != nil)
        for count in 1..<node.count {
            #expect(node[..<count].withUnsafeBytes { DeltaBuffer($0) } == nil, "\(count) bytes")
        }
        for home in [UInt8](0...255) where home != 1 && home != 2 {
            let other = [home] + node.dropFirst()
            #expect(other.withUnsafeBytes { DeltaBuffer($0) } == nil, "table \(home)")
        }
    }

    @Test func `rows stay in the buffer until it is full and then move together`() throws {
        let file = try file()
        var version: UInt64 = 1
        while try stored(.history, file).isEmpty {
            try write([(.tail, 900 + version, 40), (.history, version, 20)], to: file)
            version += 1
            try #require(version < 100)
        }
        #expect(version > 5)
        let home = try stored(.history, file)
        let here = try waiting(file).filter { $0 < 900 }
        #expect(home + here == Array(1..<version))
        let rows = try Set(stored(.tail, file) + waiting(file).filter { $0 > 900 })
        #expect(rows == Set(901..<900 + version))
    }

    @Test func `a node of another size replaces the previous one`() throws {
        let file = try file()
        for count in [10, 10, 30, 0, 5] {
            try write([(.tail, 1, 8), (.tail, 7, count), (.tail, 9, 8)], to: file)
            #expect(try waiting(file).sorted() == [1, 7, 9])
            let read = try ReadTransaction(file.lease())
            #expect(try DeltaBuffer.read(read.handle).find(.tail, 7)?.count == count)
        }
    }

    @Test(arguments: [DeltaBuffer.limit / 2, DeltaBuffer.limit - 40, 5000])
    func `a large node moves to its table immediately, after the older ones`(size: Int) throws {
        let file = try file()
        try write([(.history, 1, 20)], to: file)
        try write([(.history, 2, size)], to: file)
        #expect(try waiting(file) == [])
        #expect(try stored(.history, file) == [1, 2])
        try write([(.history, 3, 20)], to: file)
        #expect(try waiting(file) == [3])
    }

    @Test func `rows of one table are removed, others stay`() throws {
        let file = try file()
        try write([(.tail, 1, 4), (.tail, 2, 4), (.history, 2, 4), (.tail, 3, 4)], to: file)
        let buffer = DeltaBufferStorage()
        let transaction = try WriteTransaction(file.lease(), durability: .memory)
        try buffer.removeTail(2..<3, in: transaction.handle)
        try buffer.store(in: transaction.handle)
        try transaction.commit()
        #expect(try waiting(file) == [1, 2, 3])
        let read = try ReadTransaction(file.lease())
        #expect(try DeltaBuffer.read(read.handle).find(.tail, 2) == nil)
    }

    @Test func `a buffer receives the commits of another one and drops uncommitted changes`() throws
    {
        let file = try file()
        let buffers = [DeltaBufferStorage(), DeltaBufferStorage()]
        var generator = SeededGenerator(seed: 5)
        var expected: [UInt64] = []
        for round in UInt64(1)..<200 {
            let buffer = buffers.randomElement(using: &generator)!
            let write = try WriteTransaction(file.lease(), durability: .memory)
            let version = write.handle.version
            buffer.begin(on: version - 1)
            let key = round % 11
            let space = try buffer.reserve(.tail, key, count: 8, file.tables, in: write.handle)
            space.initializeMemory(as: UInt8.self, repeating: UInt8(key))
            try buffer.store(in: write.handle)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                write.abort()
            } else {
                try write.commit()
                buffer.didCommit(as: version)
                if !expected.contains(key) { expected.append(key) }
            }
            #expect(try waiting(file).sorted() == expected.sorted())
        }
    }

    @Test func `the buffer fits on the page of the table names`() throws {
        let file = try file()
        for version in UInt64(1)..<60 {
            try write([(.tail, 1000 + version, 48), (.history, version, 13)], to: file)
            let read = try ReadTransaction(file.lease())
            #expect(try read.handle.statistics(.names).pages == 1)
        }
    }
}
