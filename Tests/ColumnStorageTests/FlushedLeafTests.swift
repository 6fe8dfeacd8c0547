import MemoryAccounts
import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// Writes that read and change more flushed leaves than they keep copies of.
@Suite struct FlushedLeafTests {
    private let folder = TemporaryFolder()
    private let id = TableID(1)
    private let columns = [ColumnID(0), ColumnID(1)]
    private static let clusters = 300

    private func text(_ key: Int64, _ column: ColumnID) -> [UInt8] {
        Array("text \(key) of column \(column.rawValue), which is longer than its number".utf8)
    }

    /// Calls `body` in a write that has flushed all of its rows.
    private func write(_ body: (Snapshot, WriteSession) throws -> Void) throws {
        let options = FileOptions(durability: .memory)
        let snapshot = try Snapshot(try ColumnFile.open(path: folder.file(), options: options))
        let definition = TableDefinition(
            id: id, columns: columns.map { ColumnDefinition(id: $0, kind: .string) })
        // The buffers of the write are limited to 4 MiB.
        try MemoryAccount.$current.withValue(MemoryAccount(limit: 64 << 20)) {
            _ = try snapshot.beginWrite()
            let write = try #require(snapshot.write)
            try write.define(definition)
            for _ in 0..<Self.clusters * Cluster.rows {
                let key = write.insert(id)
                for column in columns {
                    write.set(id, column, key, bytes: text(key.rawValue, column))
                }
            }
            _ = try write.beginSavepoint()
            write.endSavepoint()
            try body(snapshot, write)
        }
        #expect(try snapshot.verify() == [])
    }

    private func key(_ cluster: Int, _ row: Int) -> ObjectKey {
        ObjectKey(Int64(cluster * Cluster.rows + row))
    }

    @Test func `a changed leaf keeps its texts while the write reads many others`() throws {
        try write { snapshot, write in
            let table = try snapshot.table(id)
            write.set(id, columns[0], key(0, 0), string: "changed")
            for cluster in 1..<Self.clusters {
                let found = try table.bytes(columns[0], key(cluster, 7))
                #expect(found == text(key(cluster, 7).rawValue, columns[0]))
            }
            try snapshot.commit()
            #expect(try table.bytes(columns[0], key(0, 0)) == Array("changed".utf8))
            for row in 1..<Cluster.rows {
                let found = try table.bytes(columns[0], key(0, row))
                #expect(found == text(key(0, row).rawValue, columns[0]))
            }
        }
    }

    @Test func `a text remains valid while another column is read`() throws {
        try write { snapshot, _ in
            let table = try snapshot.table(id)
            for cluster in 1..<Self.clusters {
                // The copy of this leaf becomes the oldest one from time to time.
                try table.withBytes(columns[0], key(0, 3)) { (found) throws(StorageError) in
                    _ = try table.bytes(columns[1], key(cluster, 3))
                    let bytes = found.withUnsafeBytes { Array($0) }
                    #expect(bytes == text(key(0, 3).rawValue, columns[0]), "\(cluster)")
                }
            }
            try snapshot.commit()
        }
    }
}
