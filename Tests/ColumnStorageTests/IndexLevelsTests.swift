import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// Bulk writes to an index with a run, which in these files begins with the first page.
@Suite struct IndexLevelsTests {
    let folder = TemporaryFolder()
    let people = TableDefinition(
        id: TableID(20),
        columns: [
            ColumnDefinition(id: ColumnID(0), kind: .int, isOptional: true, index: .ordered),
            ColumnDefinition(id: ColumnID(1), kind: .string, index: .ordered, isFullText: true),
            ColumnDefinition(id: ColumnID(2), kind: .link, isOptional: true, target: TableID(20)),
            ColumnDefinition(id: ColumnID(3), kind: .list, elementKind: .link, target: TableID(20)),
        ],
        compositeIndexes: [CompositeIndexDefinition(id: 0, columns: [ColumnID(1), ColumnID(0)])])

    private func open(minRunPages: Int = 1) throws -> Snapshot {
        var options = FileOptions(durability: .memory)
        options.minRunPages = minRunPages
        let snapshot = try Snapshot(try ColumnFile.open(path: folder.file(), options: options))
        try snapshot.configure([people])
        return snapshot
    }

    /// The rows that exist, and some of the values that they have.
    private struct Model {
        var numbers: [ObjectKey: Int64?] = [:]
        var keys: [ObjectKey] = []
    }

    private func change(
        _ write: WriteSession, _ model: inout Model, _ random: inout SeededGenerator
    ) throws {
        let table = people.id
        func set(_ key: ObjectKey) {
            if Int.random(in: 0..<20, using: &random) == 0 {
                write.setNull(table, ColumnID(0), key)
                model.numbers[key] = .some(nil)
            } else {
                let number: Int64 =
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: .random(in: .min ... .max, using: &random)
                    case 1: .random(in: 0...4, using: &random) * 1000
                    default: .random(in: 0...5000, using: &random)
                    }
                write.set(table, ColumnID(0), key, int: number)
                model.numbers[key] = number
            }
            let word = Int.random(in: 0..<300, using: &random)
            write.set(table, ColumnID(1), key, string: "word\(word) common")
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3:
            let key = write.insert(table)
            set(key)
            model.keys.append(key)
        case 4...5:
            let index = Int.random(in: 0..<model.keys.count, using: &random)
            let key = model.keys[index]
            try write.delete(table, key)
            model.keys.swapAt(index, model.keys.count - 1)
            model.keys.removeLast()
            model.numbers[key] = nil
        case 6:
            // because: the test never deletes all rows.
            let (from, to) = (
                model.keys.randomElement(using: &random)!, model.keys.randomElement(using: &random)!
            )
            write.set(table, ColumnID(2), from, link: to)
            try write.list(table, ColumnID(3), from).append(.int(to.rawValue))
        default: set(model.keys.randomElement(using: &random)!)
        }
    }

    private func check(
        _ snapshot: Snapshot, _ model: Model, _ random: inout SeededGenerator, _ what: String
    ) throws {
        let table = try snapshot.table(people.id)
        let all = model.numbers.compactMap { key, number in number.map { (number: $0, key: key) } }
            .sorted { ($0.number, $0.key) < ($1.number, $1.key) }
        #expect(try table.keys(ColumnID(0), from: nil, through: nil) == all.map(\.key), "\(what)")
        for round in 0..<20 {
            let lower =
                round % 2 == 0
                ? Int64.random(in: -10...5000, using: &random)
                : all.randomElement(using: &random)?.number ?? 0
            let (upper, _) = lower.addingReportingOverflow(.random(in: 0...40, using: &random))
            guard upper >= lower else { continue }
            let expected = all.filter { (lower...upper).contains($0.number) }
            let found = try table.keys(ColumnID(0), from: lower, through: upper)
            #expect(found == expected.map(\.key), "\(what)")
            let count = try table.count(ColumnID(0), from: lower, through: upper)
            #expect(count == expected.count, "\(what)")
            let maximum = try table.count(ColumnID(0), from: lower, through: upper, atMost: 3)
            #expect(maximum == (expected.count > 3 ? nil : expected.count), "\(what)")
            let equal = expected.filter { $0.number == lower }.map(\.key)
            #expect(try table.find(ColumnID(0), int: lower) == equal.first, "\(what)")
            #expect(try table.keys(ColumnID(0), equalTo: lower) == equal, "\(what)")
        }
    }

    @Test(arguments: RandomSeeds.sample(2, of: 1...6 as ClosedRange<UInt64>))
    func `bulk and small writes keep all indexes valid`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var snapshot = try open()
        var model = Model()
        _ = try snapshot.beginWrite()
        try snapshot.write!.define(people)
        for number in 0..<2000 as Range<Int64> {
            let key = snapshot.write!.insert(people.id)
            snapshot.write!.set(people.id, ColumnID(0), key, int: number)
            snapshot.write!.set(people.id, ColumnID(1), key, string: "first \(number % 100)")
            model.keys.append(key)
            model.numbers[key] = number
        }
        try snapshot.commit()
        var hadRuns = false
        for round in 0..<14 {
            let before = model
            let count = [1, 5, 200, 900].randomElement(using: &random)!
            _ = try snapshot.beginWrite()
            let write = snapshot.write!
            for _ in 0..<count { try change(write, &model, &random) }
            if Int.random(in: 0..<3, using: &random) == 0 {
                let kept = model
                let savepoint = try write.beginSavepoint()
                for _ in 0..<400 { try change(write, &model, &random) }
                if Bool.random(using: &random) {
                    try write.rollBack(to: savepoint)
                    model = kept
                }
                write.endSavepoint()
            }
            try check(snapshot, model, &random, "write \(round)")
            if Int.random(in: 0..<5, using: &random) == 0 {
                snapshot.cancelWrite()
                model = before
            } else {
                let left = try #require(try snapshot.commit(keepingLeft: true))
                try check(left, before, &random, "left \(round)")
                #expect(try left.verify() == [])
            }
            try check(snapshot, model, &random, "round \(round)")
            #expect(try snapshot.verify() == [], "round \(round)")
            if try snapshot.table(people.id).indexTables.hasRuns { hadRuns = true }
            if Int.random(in: 0..<4, using: &random) == 0 {
                snapshot.close()
                // Files whose runs are not continued must be read and changed as well.
                snapshot = try open(minRunPages: Bool.random(using: &random) ? 1 : .max)
                try check(snapshot, model, &random, "reopened \(round)")
            }
        }
        #expect(hadRuns)
        let past = try snapshot.file.copy(asOf: snapshot.version - 3, [people])
        #expect(try past?.verify() == [])
        _ = try snapshot.beginWrite()
        try snapshot.write!.removeTable(people.id)
        try snapshot.commit()
        let usage = try snapshot.usage()
        #expect(usage.tables.allSatisfy { $0.total == 0 })
    }

    @Test func `only a file with a run has the newest format`() throws {
        func format(_ snapshot: Snapshot) throws -> UInt8? {
            let transaction = try #require(snapshot.source.reader)
            let tables = snapshot.file.tables
            return try Metadata.read(FileFormat.name, in: transaction.handle, tables.meta)?[4]
        }
        let snapshot = try open()
        func write(_ numbers: some Sequence<Int64>) throws {
            _ = try snapshot.beginWrite()
            try snapshot.write!.define(people)
            for number in numbers {
                let key = snapshot.write!.insert(people.id)
                snapshot.write!.set(people.id, ColumnID(0), key, int: number)
            }
            try snapshot.commit()
        }
        // Ascending values are appended to the base.
        try write(stride(from: 0, to: 20_000, by: 2))
        #expect(try format(snapshot) == UInt8(FileFormat.usual))
        try write([1])
        #expect(try format(snapshot) == UInt8(FileFormat.usual))
        try write(stride(from: 1, to: 20_000, by: 40))
        #expect(try format(snapshot) == UInt8(FileFormat.withIndexRuns))
    }

    @Test func `a run remains much smaller than its index`() throws {
        var random = SeededGenerator(seed: 1)
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables(minPages: 1)
        let index = IntIndex(table: TableID(1), column: ColumnID(1), tables: tables)
        var key: Int64 = 0
        func blocks(_ level: IndexLevel) throws -> Int {
            let read = try environment.beginRead()
            return try read.handle.statistics(tables.pages(level).blocks).entries
        }
        for round in 0..<60 {
            let write = try environment.beginWrite()
            tables.invalidate()
            for _ in 0..<(round == 0 ? 60_000 : 1_000) {
                try index.insert(
                    .random(in: 0...1_000_000, using: &random), ObjectKey(key), in: write.handle)
                key += 1
            }
            try index.flush(in: write.handle)
            try write.commit()
        }
        tables.invalidate()
        #expect(try blocks(.added) > 0)
        #expect(try blocks(.added) < blocks(.base) / 3)
        let read = try environment.beginRead()
        #expect(try index.count(in: read.handle) == Int(key))
    }
}
