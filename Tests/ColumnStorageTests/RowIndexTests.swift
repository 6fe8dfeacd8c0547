import TestThreads
import Testing

@testable import ColumnStorage

/// Compares full-text and composite indexes with a model that reads every row.
@Suite struct RowIndexTests {
    private let folder = TemporaryFolder()
    private static let text = ColumnID(0)
    private static let owner = ColumnID(1)
    private static let age = ColumnID(2)
    private static let score = ColumnID(3)

    private struct Row: Equatable {
        var text: String?
        var owner: String?
        var age: Int64?
        var score = 0.0
    }

    private func definition(fullText: Bool, composites: [[ColumnID]]) -> TableDefinition {
        TableDefinition(
            id: TableID(1),
            columns: [
                ColumnDefinition(
                    id: Self.text, kind: .string, isOptional: true, isFullText: fullText),
                ColumnDefinition(id: Self.owner, kind: .string, isOptional: true),
                ColumnDefinition(id: Self.age, kind: .int, isOptional: true),
                ColumnDefinition(id: Self.score, kind: .double),
            ],
            compositeIndexes: composites.enumerated().map {
                CompositeIndexDefinition(id: $0, columns: $1)
            })
    }

    private static let words = ["red", "Réd", "reddish", "blue", "dog", "dogs", "x", "42", "東京"]

    private func random(_ generator: inout SeededGenerator) -> Row {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
        let count = chance(3) ? 400 : Int.random(in: 0...6, using: &generator)
        return Row(
            text: chance(10)
                ? nil
                : (0..<count).map { _ in Self.words.randomElement(using: &generator)! }
                    .joined(separator: " "),
            owner: chance(10)
                ? nil : ["", "a", "a\u{0}", "ab", "b"].randomElement(using: &generator)!,
            age: chance(10) ? nil : Int64.random(in: -3...3, using: &generator),
            score: [-1.5, -0.0, 0, 2, .infinity, .nan].randomElement(using: &generator)!)
    }

    private func store(_ row: Row, _ key: ObjectKey, _ write: WriteSession, _ mask: Int = 15) {
        let table = TableID(1)
        if mask & 1 != 0 {
            if let text = row.text {
                write.set(table, Self.text, key, string: text)
            } else {
                write.setNull(table, Self.text, key)
            }
        }
        if mask & 2 != 0 {
            if let owner = row.owner {
                write.set(table, Self.owner, key, string: owner)
            } else {
                write.setNull(table, Self.owner, key)
            }
        }
        if mask & 4 != 0 {
            if let age = row.age {
                write.set(table, Self.age, key, int: age)
            } else {
                write.setNull(table, Self.age, key)
            }
        }
        if mask & 8 != 0 { write.set(table, Self.score, key, double: row.score) }
    }

    private func check(
        _ snapshot: Snapshot, _ model: [Int64: Row], _ definition: TableDefinition,
        _ generator: inout SeededGenerator, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let reader = try snapshot.table(TableID(1))
        for text in ["red", "red blue", "re*", "dog -red", "dog* -re* blue", "東", "42 -x-dog"] {
            let query = TextQuery(text)!
            let expected = model.filter { row in
                row.value.text.map { query.matches(Array($0.utf8).span) } ?? false
            }.keys.sorted().map { ObjectKey($0) }
            let found = try reader.rows(Self.text, matching: query)
            if reader.hasTerms(Self.text) {
                #expect(found == expected, comment, sourceLocation: sourceLocation)
            } else {
                #expect(found == nil, comment, sourceLocation: sourceLocation)
            }
        }
        for composite in definition.compositeIndexes {
            let row = random(&generator)
            let other = random(&generator)
            for equalCount in 0...composite.columns.count {
                let equal = Array(composite.columns.prefix(equalCount))
                var range = CompositeRange(equal: equal.map { value($0, row) })
                if equalCount < composite.columns.count {
                    let next = composite.columns[equalCount]
                    if Bool.random(using: &generator), value(next, row) != .null {
                        range.lower = .init(
                            value(next, row), isIncluded: .random(using: &generator))
                    }
                    if Bool.random(using: &generator), value(next, other) != .null {
                        range.upper = .init(
                            value(next, other), isIncluded: .random(using: &generator))
                    }
                }
                let expected = model.filter { entry in
                    zip(equal, range.equal).allSatisfy {
                        order(value($0, entry.value), $1) == 0
                    } && isInside(entry.value, composite.columns, equalCount, range)
                }.keys.sorted().map { ObjectKey($0) }
                #expect(
                    try reader.keys(composite: composite.id, range)?.sorted() == expected,
                    "\(comment) \(range)", sourceLocation: sourceLocation)
            }
        }
    }

    private func isInside(
        _ row: Row, _ columns: [ColumnID], _ index: Int, _ range: CompositeRange
    ) -> Bool {
        guard range.lower != nil || range.upper != nil else { return true }
        let own = value(columns[index], row)
        if own == .null { return false }
        if let lower = range.lower, order(own, lower.value) < (lower.isIncluded ? 0 : 1) {
            return false
        }
        if let upper = range.upper, order(own, upper.value) > (upper.isIncluded ? 0 : -1) {
            return false
        }
        return true
    }

    private func value(_ column: ColumnID, _ row: Row) -> IndexValue {
        switch column {
        case Self.owner: row.owner.map { .bytes(Array($0.utf8)) } ?? .null
        case Self.age: row.age.map { .int($0) } ?? .null
        default: .double(row.score)
        }
    }

    private func order(_ left: IndexValue, _ right: IndexValue) -> Int {
        switch (left, right) {
        case (.null, .null): return 0
        case (.null, _): return -1
        case (_, .null): return 1
        case (.int(let a), .int(let b)): return a < b ? -1 : a == b ? 0 : 1
        case (.bytes(let a), .bytes(let b)):
            return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        case (.double(let a), .double(let b)):
            if a.isNaN || b.isNaN { return a.isNaN == b.isNaN ? 0 : a.isNaN ? -1 : 1 }
            return a < b ? -1 : a == b ? 0 : 1
        default: return 0
        }
    }

    @Test(arguments: RandomSeeds.sample(4, of: 1...12 as ClosedRange<UInt64>))
    func `row indexes agree with a scan through writes, rollbacks, definitions and reopening`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let path = folder.file("random-\(seed)")
        let all: [[ColumnID]] = [[Self.owner, Self.age], [Self.age, Self.score, Self.owner]]
        var current = definition(fullText: seed % 2 == 0, composites: seed % 3 == 0 ? [] : all)
        var live = try Snapshot(try ColumnFile.open(path: path))
        _ = try live.beginWrite()
        try live.write!.define(current)
        try live.commit(keepingLeft: true)
        var committed: [Int64: Row] = [:]
        for round in 0..<14 {
            var model = committed
            var next = current
            _ = try live.beginWrite()
            let write = live.write!
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                switch Int.random(in: 0..<10, using: &generator) {
                case 0...2:
                    let writer = write.rowWriter(TableID(1))
                    for _ in 0..<Int.random(in: 1...700, using: &generator) {
                        let row = random(&generator)
                        writer.beginRow()
                        if let text = row.text {
                            writer.setString(Self.text, text)
                        } else {
                            writer.setNull(Self.text)
                        }
                        if let owner = row.owner {
                            writer.setString(Self.owner, owner)
                        } else {
                            writer.setNull(Self.owner)
                        }
                        if let age = row.age {
                            writer.setInt(Self.age, age)
                        } else {
                            writer.setNull(Self.age)
                        }
                        writer.setDouble(Self.score, row.score)
                        model[writer.endRow().rawValue] = row
                    }
                case 3, 4:
                    for _ in 0..<Int.random(in: 1...30, using: &generator) {
                        let key = write.insert(TableID(1))
                        let row = random(&generator)
                        store(row, key, write)
                        model[key.rawValue] = row
                    }
                case 5, 6:
                    for key in model.keys.sorted()
                    where Int.random(in: 0..<12, using: &generator) == 0 {
                        var row = random(&generator)
                        let mask = Int.random(in: 1...15, using: &generator)
                        store(row, ObjectKey(key), write, mask)
                        // Safe because the key is from the model.
                        let old = model[key]!
                        if mask & 1 == 0 { row.text = old.text }
                        if mask & 2 == 0 { row.owner = old.owner }
                        if mask & 4 == 0 { row.age = old.age }
                        if mask & 8 == 0 { row.score = old.score }
                        model[key] = row
                    }
                case 7:
                    for key in model.keys.sorted()
                    where Int.random(in: 0..<8, using: &generator) == 0 {
                        try write.delete(TableID(1), ObjectKey(key))
                        model[key] = nil
                    }
                case 8:
                    next = definition(
                        fullText: .random(using: &generator),
                        composites: Bool.random(using: &generator)
                            ? all : Bool.random(using: &generator) ? [all[1]] : [])
                    try write.define(next)
                default: try check(live, model, next, &generator, "in write \(round)")
                }
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                live.cancelWrite()
            } else {
                try live.commit(keepingLeft: true)
                committed = model
                current = next
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                live.close()
                live = try Snapshot(try ColumnFile.open(path: path))
                try live.configure([current])
            }
            try check(live, committed, current, &generator, "after \(round)")
            if round % 4 == 3 { #expect(try live.verify() == [], "after \(round)") }
        }
    }
}
