import LMDBStorage
import Testing

@testable import ColumnStorage

@Suite struct RemovalTests {
    private let file = TemporaryFolder()

    private static let columns: [ColumnDefinition] = [
        ColumnDefinition(id: ColumnID(0), kind: .int, index: .ordered),
        ColumnDefinition(id: ColumnID(1), kind: .string, index: .ordered),
        ColumnDefinition(id: ColumnID(2), kind: .list, elementKind: .int),
        ColumnDefinition(id: ColumnID(3), kind: .data),
    ]
    private let table = TableDefinition(id: TableID(3), columns: columns)

    private func fill(_ snapshot: Snapshot, rows: Int) throws {
        _ = try snapshot.beginWrite()
        let session = try #require(snapshot.write)
        try session.define(table)
        for row in 0..<rows {
            let key = session.insert(table.id)
            session.set(table.id, ColumnID(0), key, int: Int64(row))
            session.set(table.id, ColumnID(1), key, string: "text \(row)")
            try session.list(table.id, ColumnID(2), key).append(.int(Int64(row)))
            // Every tenth value is long enough for the table of long values.
            session.set(
                table.id, ColumnID(3), key,
                bytes: [UInt8](repeating: 7, count: row % 10 == 0 ? 9000 : 3))
        }
        try snapshot.commit(keepingLeft: true)
    }

    /// The number of entries of every table of the file except history and metadata.
    private func entries(_ file: ColumnFile) throws -> Int {
        let reader = try ReadTransaction(file.lease())
        var count = try reader.handle.statistics(file.tables.tail).entries
        count += try reader.handle.statistics(file.tables.lists).entries
        count += try reader.handle.statistics(file.tables.values).entries
        count += try reader.handle.statistics(file.tables.leaves(of: table.id)).entries
        count += try reader.handle.statistics(file.tables.indexes(of: table.id)).entries
        try DeltaBuffer.read(reader.handle).forEach { home, _, _ in
            if home == .tail { count += 1 }
        }
        reader.end()
        return count
    }

    @Test func `a removed table leaves no data in the file, and its rows count as deleted`() throws
    {
        let columnFile = try ColumnFile.open(path: file.file("a"))
        let snapshot = try Snapshot(columnFile)
        try fill(snapshot, rows: 1300)
        let other = try Snapshot(columnFile)
        try other.configure([table])
        #expect(try other.table(table.id).count == 1300)
        let from = snapshot.version
        _ = try snapshot.beginWrite()
        // Rows that the same write has added are removed too, without a record.
        let late = try #require(snapshot.write?.insert(table.id))
        snapshot.write?.set(table.id, ColumnID(0), late, int: 5)
        try snapshot.write?.removeTable(table.id)
        #expect(try snapshot.table(table.id).count == 0)
        try snapshot.commit(keepingLeft: true)
        #expect(try entries(columnFile) == 0)
        let changes = try #require(try snapshot.changes(from: from, to: snapshot.version))
        let changed = try #require(changes.tables[table.id])
        #expect(changed.deleted.count == 1300)
        #expect(changed.inserted.isEmpty && changed.modified.isEmpty)
        #expect(changes.schemaChanged)
        _ = try other.advance()
        #expect(try other.table(table.id).count == 0)
    }

    @Test func `rolling back a removal restores everything`() throws {
        let columnFile = try ColumnFile.open(path: file.file("b"))
        let snapshot = try Snapshot(columnFile)
        try fill(snapshot, rows: 700)
        let before = try entries(columnFile)
        _ = try snapshot.beginWrite()
        try snapshot.write?.removeTable(table.id)
        snapshot.cancelWrite()
        #expect(try entries(columnFile) == before)
        let rows = try snapshot.table(table.id)
        #expect(rows.count == 700)
        #expect(try rows.string(ColumnID(1), ObjectKey(650)) == "text 650")
        #expect(try rows.find(ColumnID(0), int: 650) == ObjectKey(650))
        #expect(try rows.bytes(ColumnID(3), ObjectKey(650))?.count == 9000)
    }

    @Test func `a dropped column frees its leaves, index, lists and long values`() throws {
        let columnFile = try ColumnFile.open(path: file.file("c"))
        let snapshot = try Snapshot(columnFile)
        try fill(snapshot, rows: 1300)
        var dropped = table
        for column in 1...3 { dropped.columns[column].isDropped = true }
        _ = try snapshot.beginWrite()
        snapshot.write?.set(table.id, ColumnID(1), ObjectKey(3), string: "changed before")
        try snapshot.write?.define(dropped)
        try snapshot.commit(keepingLeft: true)
        let handle = try ReadTransaction(columnFile.lease())
        #expect(try handle.handle.statistics(columnFile.tables.values).entries == 0)
        #expect(try handle.handle.statistics(columnFile.tables.lists).entries == 0)
        // Three clusters, each with its presence leaf and one column.
        #expect(try handle.handle.statistics(columnFile.tables.leaves(of: table.id)).entries == 6)
        handle.end()
        let rows = try snapshot.table(table.id)
        #expect(try rows.int(ColumnID(0), ObjectKey(1200)) == 1200)
        #expect(try rows.string(ColumnID(1), ObjectKey(1200)) == nil)
        #expect(try rows.find(ColumnID(0), int: 77) == ObjectKey(77))
    }

    @Test func `the first duplicate of an index is found, also before it is stored`() throws {
        let snapshot = try Snapshot(try ColumnFile.open(path: file.file("d")))
        try fill(snapshot, rows: 100)
        let rows = try snapshot.table(table.id)
        #expect(try rows.firstDuplicate(ColumnID(0)) == nil)
        #expect(try rows.firstDuplicate(ColumnID(1)) == nil)
        _ = try snapshot.beginWrite()
        snapshot.write?.set(table.id, ColumnID(0), ObjectKey(90), int: 20)
        snapshot.write?.set(table.id, ColumnID(1), ObjectKey(10), string: "text 11")
        let numbers = try #require(try rows.firstDuplicate(ColumnID(0)))
        #expect([numbers.first, numbers.second] == [ObjectKey(20), ObjectKey(90)])
        let texts = try #require(try rows.firstDuplicate(ColumnID(1)))
        #expect([texts.first, texts.second] == [ObjectKey(10), ObjectKey(11)])
        try snapshot.commit(keepingLeft: true)
        #expect(try rows.firstDuplicate(ColumnID(0)) != nil)
    }
}
