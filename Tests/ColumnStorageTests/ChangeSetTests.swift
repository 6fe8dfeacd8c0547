import TestThreads
import Testing

@testable import ColumnStorage

/// A table as a plain dictionary, from which a test computes the changes between two versions.
private struct Model {
    var rows: [Int64: [Int: Int]] = [:]
    var nextKey: Int64 = 0
}

@Suite struct ChangeSetTests {
    /// Makes random changes to a model and returns the record of a commit.
    private func commit(
        _ tables: inout [TableID: Model], _ generator: inout SeededGenerator
    ) -> ChangeSet {
        var changes = ChangeSet(schemaChanged: Int.random(in: 0..<20, using: &generator) == 0)
        for table in tables.keys.sorted() where Bool.random(using: &generator) {
            var model = tables[table]!
            let before = Set(model.rows.keys)
            var touched: [ColumnID: Set<Int64>] = [:]
            for _ in 0..<Int.random(in: 0..<6, using: &generator) {
                switch Int.random(in: 0..<3, using: &generator) {
                case 0:
                    model.rows[model.nextKey] = [:]
                    model.nextKey += 1
                case 1:
                    if let key = model.rows.keys.sorted().randomElement(using: &generator) {
                        model.rows[key] = nil
                    }
                default:
                    if let key = model.rows.keys.sorted().randomElement(using: &generator) {
                        let column = Int.random(in: 0..<4, using: &generator)
                        model.rows[key]![column] = Int.random(in: 0..<9, using: &generator)
                        touched[ColumnID(rawValue: column), default: []].insert(key)
                    }
                }
            }
            let after = Set(model.rows.keys)
            let kept = before.intersection(after)
            var record = TableChanges(
                inserted: set(after.subtracting(before)), deleted: set(before.subtracting(after)))
            for (column, keys) in touched where !keys.isDisjoint(with: kept) {
                record.modified[column] = set(keys.intersection(kept))
            }
            if !record.isEmpty { changes.tables[table] = record }
            tables[table] = model
        }
        return changes
    }

    private func set(_ keys: Set<Int64>) -> KeySet {
        KeySet(unordered: keys.map { ObjectKey(rawValue: $0) })
    }

    private func startingTables() -> [TableID: Model] {
        [
            TableID(rawValue: 0): Model(), TableID(rawValue: 3): Model(),
            TableID(rawValue: 900): Model(),
        ]
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `merging gives the differences of the first and the last version`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var tables = startingTables()
        for _ in 0..<10 { _ = commit(&tables, &generator) }
        let old = tables
        var merged = ChangeSet()
        var pairs: [ChangeSet] = []
        var touched: [TableID: [ColumnID: KeySet]] = [:]
        for _ in 0..<Int.random(in: 1..<12, using: &generator) {
            let changes = commit(&tables, &generator)
            merged.merge(later: changes)
            pairs.append(changes)
            for (table, record) in changes.tables {
                for (column, keys) in record.modified {
                    touched[table, default: [:]][column, default: KeySet()].formUnion(keys)
                }
            }
        }
        for (table, model) in tables {
            let before = Set(old[table]!.rows.keys)
            let after = Set(model.rows.keys)
            let record = merged.tables[table] ?? TableChanges()
            #expect(record.inserted == set(after.subtracting(before)))
            #expect(record.deleted == set(before.subtracting(after)))
            let kept = set(before.intersection(after))
            for (column, keys) in touched[table] ?? [:] {
                #expect(record.modified[column] ?? KeySet() == keys.intersection(kept))
            }
        }
        // Merging is associative, so the history can merge in any grouping.
        var grouped = pairs
        while grouped.count > 1 {
            let index = Int.random(in: 0..<grouped.count - 1, using: &generator)
            grouped[index].merge(later: grouped.remove(at: index + 1))
        }
        #expect(grouped[0] == merged)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a change set reads its own output, and detects damage`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var tables = startingTables()
        var changes = ChangeSet()
        for _ in 0..<Int(seed) { changes.merge(later: commit(&tables, &generator)) }
        let bytes = changes.encode()
        #expect(try bytes.withUnsafeBytes { try ChangeSet(decoding: $0) } == changes)
        for _ in 0..<200 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<damaged.count, using: &generator)
                damaged[index] = UInt8.random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) { damaged.removeLast() }
            damaged.withUnsafeBytes {
                guard let other = try? ChangeSet(decoding: $0) else { return }
                for record in other.tables.values {
                    #expect(!record.inserted.intersects(record.deleted))
                    #expect(!record.modifiedRows.intersects(record.inserted))
                    #expect(!record.modifiedRows.intersects(record.deleted))
                }
            }
        }
    }

    @Test func `a change set refuses bytes of another form`() {
        for bytes: [UInt8] in [
            [], [0], [2, 0], [1], [1, 200], [1, 0, 0], [1, 1, 0, 0], [0x31, 0],
        ] {
            #expect(throws: DamagedEncoding.self) {
                try bytes.withUnsafeBytes { try ChangeSet(decoding: $0) }
            }
        }
    }

    @Test func `a change set uses a few bytes for one property`() {
        let record = TableChanges(modified: [ColumnID(rawValue: 2): [ObjectKey(rawValue: 1000)]])
        let changes = ChangeSet(tables: [TableID(rawValue: 1): record])
        #expect(changes.encode().count <= 10)
    }
}
