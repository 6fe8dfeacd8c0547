import LMDBStorage
import Testing

@testable import ColumnStorage

@Suite struct HistoryTests {
    private let environment: TemporaryEnvironment

    init() throws { environment = try TemporaryEnvironment() }

    /// Commits versions that each insert one key, and returns the first of the versions.
    private func commit(_ keys: Range<Int64>) throws -> UInt64 {
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
            let changes = TableChanges(inserted: [ObjectKey(key)])
            ChangeSet(tables: [TableID(1): changes]).encode(into: &entry)
            try entry.bytes.withUnsafeBytes {
                try write.handle.put(environment.history, write.handle.version, $0, append: true)
            }
            try write.commit()
        }
        return first
    }

    private func read(after from: UInt64, through to: UInt64) throws -> ChangeSet? {
        let read = try environment.beginRead()
        return try HistoryLog.changes(
            after: from, through: to, in: environment.history, .none, read.handle)
    }

    @Test func `the history merges any range of versions`() throws {
        let first = try commit(0..<40)
        for from in UInt64(0)..<40 {
            for to in from..<40 {
                let merged = try read(after: first - 1 + from, through: first - 1 + to)
                #expect(merged?.tables[TableID(1)]?.inserted.count ?? 0 == Int(to - from))
                if to > from {
                    let range = Int64(from)...Int64(to - 1)
                    #expect(merged?.tables[TableID(1)]?.inserted == KeySet(rawRange: range))
                }
            }
        }
    }

    @Test func `the history reports a damaged entry by the name of the file`() throws {
        let first = try commit(0..<3)
        let write = try environment.beginWrite()
        try [UInt8](repeating: 0xEE, count: 9).withUnsafeBytes {
            try write.handle.put(environment.history, first + 1, $0)
        }
        try write.commit()
        let error = #expect(throws: StorageError.self) {
            try read(after: first, through: first + 2)
        }
        #expect(error?.code == .damaged)
        #expect(error?.file.contains(environment.folder) == true)
    }
}
