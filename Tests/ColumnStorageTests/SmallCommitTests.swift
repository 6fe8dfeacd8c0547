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

    @Test func `text is found by a prefix in leaves of every form`() throws {
        var random = SeededGenerator(seed: 7)
        let live = try open()
        _ = try live.beginWrite()
        var texts: [String] = []
        for number in 0..<2200 {
            let key = live.write!.insert(table)
            let count = Int.random(in: 0..<(number < 500 ? 3 : 9), using: &random)
            let text = String((0..<count).map { _ in "abc".randomElement(using: &random)! })
            live.write!.set(table, ColumnID(1), key, string: text)
            texts.append(text)
        }
        try live.commit(keepingLeft: true)
        let reader = try live.table(table)
        for wanted in ["", "a", "ab", "cab", "cabbac", "d"] {
            for (test, passes) in [
                (ColumnTest.bytesPrefix([UInt8](wanted.utf8)), { $0.hasPrefix(wanted) }),
                (ColumnTest.bytesEqual([UInt8](wanted.utf8)), { $0 == wanted }),
            ] as [(ColumnTest, (String) -> Bool)] {
                var found = 0
                for cluster in 0..<reader.clusterCount {
                    let among = try reader.presence(cluster)
                    found += try reader.matches(ColumnID(1), cluster, test, among: among).rowCount
                }
                #expect(found == texts.filter { passes($0) || wanted.isEmpty && $0.isEmpty }.count)
            }
        }
    }

    @Test func `the sum of some rows does not depend on the other rows`() throws {
        let kinds = TableDefinition(
            id: TableID(4), columns: [ColumnDefinition(id: ColumnID(0), kind: .double)])
        let live = try open()
        _ = try live.beginWrite()
        try live.write!.define(kinds)
        for number in 0..<Cluster.rows {
            let key = live.write!.insert(kinds.id)
            let value: Double =
                switch number % 4 {
                case 1: .nan
                case 2: .infinity
                default: Double(number)
                }
            live.write!.set(kinds.id, ColumnID(0), key, double: value)
        }
        try live.commit(keepingLeft: true)
        var rows = ClusterBits.zero
        for number in 0..<Cluster.rows where number % 4 == 0 || number % 4 == 3 {
            rows.insert(number)
        }
        var sum = ExactSum()
        #expect(try live.table(kinds.id).addDoubles(ColumnID(0), 0, among: rows, to: &sum) == 248)
        #expect(
            sum.value
                == (0..<Cluster.rows).filter { [0, 3].contains($0 % 4) }.reduce(0.0) {
                    $0 + Double($1)
                })
        rows.insert(1)
        _ = try live.table(kinds.id).addDoubles(ColumnID(0), 0, among: rows, to: &sum)
        #expect(sum.value.isNaN)
    }
}
