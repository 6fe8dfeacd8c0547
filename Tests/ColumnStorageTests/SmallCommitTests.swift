import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

@Suite struct SmallCommitTests {
    let folder = TemporaryFolder()
    let table = TableID(3)
    let numbered = TableDefinition(
        id: TableID(3),
        columns: [
            ColumnDefinition(id: ColumnID(0), kind: .int, index: .ordered),
            ColumnDefinition(id: ColumnID(1), kind: .string),
        ])

    private func open() throws -> Snapshot {
        let snapshot = try Snapshot(
            try ColumnFile.open(path: folder.file(), options: FileOptions(durability: .memory)))
        try snapshot.configure([numbered])
        _ = try snapshot.beginWrite()
        try snapshot.write!.define(numbered)
        try snapshot.commit(keepingLeft: true)
        return snapshot
    }

    @Test(arguments: 0...3)
    func `one insertion per commit keeps an index sorted`(form: Int) throws {
        var random = SeededGenerator(seed: UInt64(form) + 1)
        let live = try open()
        var model: [(value: Int64, key: ObjectKey)] = []
        for number in 0..<1100 {
            let value: Int64 =
                switch form {
                case 0: Int64(number)
                case 1: Int64.random(in: 0..<50, using: &random)
                case 2: Int64.random(in: .min ... .max, using: &random)
                default: Int64(number) * 3 + Int64.random(in: 0..<300, using: &random)
                }
            _ = try live.beginWrite()
            let key = live.write!.insert(table)
            live.write!.set(table, ColumnID(0), key, int: value)
            try live.commit(keepingLeft: true)
            model.append((value, key))
        }
        model.sort { ($0.value, $0.key) < ($1.value, $1.key) }
        let reader = try live.table(table)
        #expect(try reader.keys(ColumnID(0), from: nil, through: nil) == model.map(\.key))
        for (value, _) in model.prefix(300) {
            #expect(
                try reader.keys(ColumnID(0), equalTo: value)
                    == model.filter { $0.value == value }.map(\.key))
        }
    }

    @Test func `empty clusters are skipped`() throws {
        let live = try open()
        _ = try live.beginWrite()
        let writer = live.write!.rowWriter(table)
        for number in 0..<20_000 {
            writer.beginRow()
            writer.setInt(ColumnID(0), Int64(number))
            writer.endRow()
        }
        try live.commit(keepingLeft: true)
        _ = try live.beginWrite()
        for number in 700..<18_000 { try live.write!.delete(table, ObjectKey(Int64(number))) }
        let left = try #require(try live.commit(keepingLeft: true))
        func rows(_ reader: TableReader) throws -> [Int64] {
            try (0..<reader.clusterCount).flatMap { cluster in
                var keys: [Int64] = []
                try reader.presence(cluster).forEachRow {
                    keys.append(Int64(cluster * Cluster.rows + $0))
                }
                return keys
            }
        }
        let expected = Array(0..<Int64(700)) + Array(18_000..<Int64(20_000))
        #expect(try rows(live.table(table)) == expected)
        #expect(try rows(left.table(table)).count == 20_000)
        _ = try live.beginWrite()
        let key = live.write!.insert(table)
        #expect(try rows(live.table(table)) == expected + [key.rawValue])
        try live.commit(keepingLeft: true)
        #expect(try rows(live.table(table)) == expected + [key.rawValue])
        let frozen = try live.frozen()
        #expect(try rows(frozen.table(table)) == expected + [key.rawValue])
        frozen.close()
    }
}
