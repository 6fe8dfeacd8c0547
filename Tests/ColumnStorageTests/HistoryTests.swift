import LMDBStorage
import Testing

@testable import ColumnStorage

@Suite struct HistoryTests {
    private func changes(_ key: Int64) -> ChangeSet {
        ChangeSet(tables: [TableID(1): TableChanges(inserted: [ObjectKey(key)])])
    }

    /// Commits one version for each key, which its change set inserts, and returns the first of the
    /// versions.
    @discardableResult  // because: some tests only need the versions to exist
    private func commit(
        _ keys: Range<Int64>, _ environment: TemporaryEnvironment, limit: Int = 1000,
        needed: UInt64 = .max
    ) throws -> UInt64 {
        var first: UInt64 = 0
        for key in keys {
            let write = try environment.beginWrite()
            if first == 0 { first = write.handle.version }
            var entry = ByteWriter()
            // Entries of older files have no identity.
            if key % 2 == 0 {
                HistoryLog.begin(&entry, 0, after: nil)
            } else {
                entry.word(0, bytes: 4)
            }
            changes(key).encode(into: &entry)
            try entry.bytes.withUnsafeBytes {
                try write.handle.put(
                    environment.history, write.handle.version, $0, append: true)
            }
            try HistoryLog.trim(
                environment.history, limit: limit, needed: needed, in: write.handle)
            try write.commit()
        }
        return first
    }

    private func read(
        _ environment: TemporaryEnvironment, after from: UInt64, through to: UInt64
    ) throws -> ChangeSet? {
        let read = try environment.beginRead()
        return try HistoryLog.changes(
            after: from, through: to, in: environment.history, .none, read.handle)
    }

    @Test func `the history merges any range of versions`() throws {
        let environment = try TemporaryEnvironment()
        let first = try commit(0..<40, environment)
        for from in UInt64(0)..<40 {
            for to in from..<40 {
                let merged = try read(environment, after: first - 1 + from, through: first - 1 + to)
                #expect(merged?.tables[TableID(1)]?.inserted.count ?? 0 == Int(to - from))
                if to > from {
                    let range = Int64(from)...Int64(to - 1)
                    #expect(merged?.tables[TableID(1)]?.inserted == KeySet(rawRange: range))
                }
            }
        }
    }

    @Test func `the history survives reopening the file`() throws {
        let environment = try TemporaryEnvironment()
        let first = try commit(0..<3, environment)
        try environment.reopen()
        let merged = try read(environment, after: first, through: first + 2)
        #expect(merged?.tables[TableID(1)]?.inserted == [ObjectKey(1), ObjectKey(2)])
    }

    @Test func `the history reports a version before its beginning`() throws {
        let environment = try TemporaryEnvironment()
        let first = try commit(0..<100, environment, limit: 10)
        let last = first + 99
        #expect(try read(environment, after: first, through: last) == nil)
        #expect(try read(environment, after: last - 10, through: last) != nil)
        #expect(try read(environment, after: last, through: last + 1) == nil)
        #expect(try read(environment, after: last, through: last)?.isEmpty == true)
        let reader = try environment.beginRead()
        #expect(try reader.handle.statistics(environment.history).entries <= 10 + 16)
    }

    @Test func `the history keeps the changes that a snapshot needs`() throws {
        let environment = try TemporaryEnvironment()
        let first = try commit(0..<1, environment)
        try commit(1..<100, environment, limit: 10, needed: first + 5)
        #expect(try read(environment, after: first + 5, through: first + 99) != nil)
        try commit(100..<101, environment, limit: 10, needed: first + 90)
        #expect(try read(environment, after: first + 5, through: first + 99) == nil)
        #expect(try read(environment, after: first + 90, through: first + 99) != nil)
    }

    @Test func `the history reports a damaged entry by the name of the file`() throws {
        let environment = try TemporaryEnvironment()
        let first = try commit(0..<3, environment)
        let write = try environment.beginWrite()
        try [UInt8](repeating: 0xEE, count: 9).withUnsafeBytes {
            try write.handle.put(environment.history, first + 1, $0)
        }
        try write.commit()
        let error = #expect(throws: StorageError.self) {
            try read(environment, after: first, through: first + 2)
        }
        #expect(error?.code == .damaged)
        #expect(error?.file.contains(environment.folder) == true)
    }
}
