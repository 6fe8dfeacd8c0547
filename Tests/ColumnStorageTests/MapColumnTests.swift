import LMDBStorage
import MemoryAccounts
import Testing

@testable import ColumnStorage

/// Maps in storage: keys and values in two tables of chunks.
@Suite struct MapColumnTests {
    private let folder = TemporaryFolder()
    private let table = TableID(1)
    private let column = ColumnID(0)
    private let owner = ObjectKey(0)

    private func makeFile() throws -> Snapshot {
        let snapshot = try Snapshot(ColumnFile.open(path: folder.file("maps")))
        _ = try snapshot.beginWrite()
        let session = try #require(snapshot.write)
        try session.define(
            TableDefinition(
                id: table,
                columns: [
                    ColumnDefinition(id: column, kind: .list, collection: .map, elementKind: .int)
                ]))
        _ = session.insert(table)
        return snapshot
    }

    @Test func `a change marks the row and updates its number of entries`() throws {
        let snapshot = try makeFile()
        try snapshot.commit(keepingLeft: true)
        let before = snapshot.version
        _ = try snapshot.beginWrite()
        var map = try #require(snapshot.write).map(table, column, owner)
        for number in 0..<2000 {
            #expect(try map.set(.int(Int64(number)), for: Array("\(number)".utf8)))
        }
        #expect(try !map.set(.int(7), for: Array("0".utf8)))
        try snapshot.commit(keepingLeft: true)
        let rows = try snapshot.table(table)
        #expect(try rows.listCount(column, owner) == 2000)
        #expect(
            try snapshot.changes(from: before, to: snapshot.version)?.tables[table]?
                .modified[column]?.contains(owner) == true)
        let reader = try #require(try rows.map(column, owner))
        #expect(try reader.value(Array("0".utf8)) == .int(7))
        #expect(try reader.value(Array("1999".utf8)) == .int(1999))
        #expect(try reader.value(Array("2000".utf8)) == nil)
        #expect(try reader.key(at: 2000) == nil)
        _ = try snapshot.beginWrite()
        map = try #require(snapshot.write).map(table, column, owner)
        try map.removeAll()
        #expect(try map.count == 0)
        snapshot.cancelWrite()
        #expect(try snapshot.table(table).map(column, owner)?.count == 2000)
        _ = try snapshot.beginWrite()
        try #require(snapshot.write).delete(table, owner)
        try snapshot.commit(keepingLeft: true)
        let handle = try #require(snapshot.source.handle)
        #expect(try handle.statistics(snapshot.file.tables.lists).entries == 0)
        #expect(try handle.statistics(snapshot.file.tables.mapKeys).entries == 0)
    }

    /// The values of a map are stored early, with its keys, while the first entry is being added.
    @Test func `storing maps early keeps all entries`() throws {
        let snapshot = try makeFile()
        try snapshot.commit(keepingLeft: true)
        let counts = [3000, 10, 3000, 5, 4000, 1, 700]
        // A sixteenth of the limit is kept in memory.
        try MemoryAccount.$current.withValue(MemoryAccount(limit: 1 << 20)) {
            _ = try snapshot.beginWrite()
            let session = try #require(snapshot.write)
            for (row, count) in counts.enumerated() {
                let key = row == 0 ? owner : session.insert(table)
                let map = try session.map(table, column, key)
                for number in 0..<count {
                    _ = try map.set(.int(Int64(number)), for: Array("key \(number)".utf8))
                }
            }
            try snapshot.commit(keepingLeft: true)
        }
        for (row, count) in counts.enumerated() {
            let map = try #require(
                try snapshot.table(table).map(column, ObjectKey(rawValue: Int64(row))))
            #expect(try map.entries().count == count)
            #expect(try map.value(Array("key 0".utf8)) == .int(0))
        }
    }

    @Test func `keys without values are reported as damage`() throws {
        let snapshot = try makeFile()
        let session = try #require(snapshot.write)
        try session.map(table, column, owner).set(.int(1), for: Array("a".utf8))
        try snapshot.commit(keepingLeft: true)
        _ = try snapshot.beginWrite()
        let write = try #require(snapshot.write)
        do {
            let cursor = try write.transaction.handle.cursor(snapshot.file.tables.lists)
            #expect(try cursor.first() != nil)
            try cursor.delete()
        }
        try snapshot.commit(keepingLeft: true)
        let reader = try #require(try snapshot.table(table).map(column, owner))
        let error = #expect(throws: StorageError.self) { try reader.value(Array("a".utf8)) }
        #expect(error?.code == .damaged)
        let second = #expect(throws: StorageError.self) {
            try snapshot.table(table).mapEntries(column, owner)
        }
        #expect(second?.code == .damaged)
    }
}
