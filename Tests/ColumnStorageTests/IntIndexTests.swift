import LMDBStorage
import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct IntIndexTests {
    /// A multiset of entries in order.
    private struct Model {
        var entries: [IntEntry] = []

        private func index(of entry: IntEntry) -> Int {
            var low = 0
            var high = entries.count
            while low < high {
                let middle = (low + high) / 2
                if entries[middle] < entry { low = middle + 1 } else { high = middle }
            }
            return low
        }
        mutating func insert(_ entry: IntEntry) { entries.insert(entry, at: index(of: entry)) }
        mutating func remove(_ entry: IntEntry) { entries.remove(at: index(of: entry)) }
        func keys(_ range: ClosedRange<Int64>) -> [Int64] {
            entries.filter { range.contains($0.value) }.map(\.key)
        }
    }

    private func check(
        _ index: IntIndex, _ model: Model, _ handle: TransactionHandle,
        _ generator: inout SeededGenerator, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let values = Set(model.entries.map(\.value)).sorted()
        for _ in 0..<12 {
            let value =
                Bool.random(using: &generator)
                ? values.randomElement(using: &generator) ?? 0
                : Int64.random(in: -50...5000, using: &generator)
            let expected = model.keys(value...value)
            let found = try index.find(value, in: handle)
            #expect(found?.rawValue == expected.first, sourceLocation: sourceLocation)
            let keys = try index.keys(equalTo: value, in: handle).map(\.rawValue)
            #expect(keys == expected, sourceLocation: sourceLocation)
            let maximum = Int.random(in: 0...expected.count, using: &generator)
            let few = try index.keys(equalTo: value, atMost: maximum, in: handle).map(\.rawValue)
            #expect(
                expected.count > maximum ? few.count > maximum : few == expected,
                sourceLocation: sourceLocation)
        }
        for _ in 0..<4 {
            let lower = Int64.random(in: -100...5000, using: &generator)
            let upper = lower + Int64.random(in: 0...3000, using: &generator)
            let keys = try index.keys(from: lower, through: upper, in: handle).map(\.rawValue)
            #expect(keys == model.keys(lower...upper), sourceLocation: sourceLocation)
            let count = try index.count(from: lower, through: upper, in: handle)
            #expect(count == keys.count, sourceLocation: sourceLocation)
        }
        let all = try index.keys(from: nil, through: nil, in: handle).map(\.rawValue)
        #expect(all == model.entries.map(\.key), sourceLocation: sourceLocation)
        #expect(try index.count(in: handle) == all.count, sourceLocation: sourceLocation)
    }

    /// Adds or removes entries in one of the patterns of writes.
    private func change(
        _ index: IntIndex, _ model: inout Model, _ handle: TransactionHandle,
        _ generator: inout SeededGenerator, seed: UInt64
    ) throws {
        func insert(_ value: Int64, _ key: Int64) throws {
            try index.insert(value, ObjectKey(key), in: handle)
            model.insert(IntEntry(value: value, key: key))
        }
        let wide = seed % 3 == 0
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            let start = (model.entries.last?.value ?? 0) % (Int64.max / 2) + 1
            for offset in 0..<Int64.random(in: 1...1500, using: &generator) {
                try insert(start + offset, offset)
            }
        case 1:
            for _ in 0..<Int.random(in: 1...400, using: &generator) {
                let value: Int64 =
                    wide
                    ? .random(in: .min ... .max, using: &generator)
                    : .random(in: 0...5000, using: &generator)
                try insert(value, .random(in: 0...100_000, using: &generator))
            }
        case 2:
            // Few values, many keys and repeated entries, as in a link index.
            for _ in 0..<Int.random(in: 1...400, using: &generator) {
                try insert(
                    .random(in: 0...4, using: &generator) * 1000,
                    .random(in: 0...50, using: &generator))
            }
        case 3:
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                try insert(.random(in: -20...5000, using: &generator), 7)
            }
        default:
            let share = Int.random(in: 1...100, using: &generator)
            for entry in model.entries.shuffled(using: &generator)
            where Int.random(in: 0..<100, using: &generator) < share {
                try index.remove(entry.value, ObjectKey(entry.key), in: handle)
                model.remove(entry)
            }
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `an integer index behaves like a sorted multiset through writes and reopening`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        // Neighbors in the same table must not be read or changed.
        let columns = [ColumnID(2), ColumnID(1), ColumnID(3)]
        let minPages = seed % 2 == 0 ? 1 : Int.max
        var tables = environment.indexTables(minPages: minPages)
        func make() -> [IntIndex] {
            columns.map { IntIndex(table: TableID(300), column: $0, tables: tables) }
        }
        var indexes = make()
        var committed = [Model](repeating: Model(), count: 3)
        for _ in 0..<8 {
            var models = committed
            let write = try environment.beginWrite()
            tables.invalidate()
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let which = Int.random(in: 0..<3, using: &generator)
                try change(indexes[which], &models[which], write.handle, &generator, seed: seed)
                if Bool.random(using: &generator) {
                    try check(indexes[which], models[which], write.handle, &generator)
                }
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    try indexes[which].flush(in: write.handle)
                    for other in 0..<3 {
                        try check(indexes[other], models[other], write.handle, &generator)
                    }
                }
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                for index in indexes { index.cancel() }
                write.abort()
            } else {
                for index in indexes { try index.flush(in: write.handle) }
                try write.commit()
                committed = models
            }
            tables.invalidate()
            if Int.random(in: 0..<4, using: &generator) == 0 {
                try environment.reopen()
                tables = environment.indexTables(
                    minPages: minPages, hasRuns: tables.hasRuns)
                indexes = make()
            }
            let read = try environment.beginRead()
            for which in 0..<3 {
                try check(indexes[which], committed[which], read.handle, &generator)
            }
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `lookups between single changes find the entries after many changes`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        let write = try environment.beginWrite()
        var model = Model()
        func insert(_ value: Int64, _ key: Int64) throws {
            try index.insert(value, ObjectKey(key), in: write.handle)
            model.insert(IntEntry(value: value, key: key))
        }
        for key in 0..<2000 { try insert(Int64(key) * 7 % 4000, Int64(key)) }
        try index.flush(in: write.handle)
        for key in 2000..<4000 {
            try insert(.random(in: 0...4000, using: &generator), Int64(key))
        }
        for step in 0..<400 {
            // Entries at one place, so that a part is divided, and removals until parts are empty.
            let place = Int64(step % 2 == 0 ? 2000 : Int.random(in: 0...4000, using: &generator))
            if step < 300, Bool.random(using: &generator) || step < 100 {
                try insert(place, Int64(4000 + step))
            } else if let entry = model.entries.first(where: { $0.value >= place - 1000 }) {
                try index.remove(entry.value, ObjectKey(entry.key), in: write.handle)
                model.remove(entry)
            }
            if step % 8 == 0 {
                try check(index, model, write.handle, &generator)
            } else {
                #expect(try index.count(in: write.handle) == model.entries.count)
            }
        }
        if seed == 1 { try insert(5000, 1) }
        try index.flush(in: write.handle)
        try check(index, model, write.handle, &generator)
    }

    @Test(arguments: [0, 1, 4, 5, 600] as [Int64])
    func `ascending entries are appended after any others`(first: Int64) throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        let write = try environment.beginWrite()
        for key in 0..<first { try index.insert(key, ObjectKey(key), in: write.handle) }
        try index.flush(in: write.handle)
        #expect(try index.isEmpty(in: write.handle) == (first == 0))
        for key in 0..<first where key % 2 == 0 {
            try index.remove(key, ObjectKey(key), in: write.handle)
        }
        // Runs of neighbors, and a gap after each.
        let added = (0..<Int64(3000)).map { 1000 + $0 + $0 / 700 }
        for value in added { try index.insert(value, ObjectKey(value), in: write.handle) }
        let expected = (0..<first).filter { $0 % 2 != 0 } + added
        #expect(try !index.isEmpty(in: write.handle))
        for _ in 0..<2 {
            let keys = try index.keys(from: nil, through: nil, in: write.handle)
            #expect(keys.map(\.rawValue) == expected)
            for value in [first, 999, 1000, 1699, 1700, 1701, 4003, 4004] {
                let found = try index.find(value, in: write.handle)
                #expect(found?.rawValue == (expected.contains(value) ? value : nil))
            }
            try index.flush(in: write.handle)
        }
    }

    @Test func `an integer index keeps any number of equal entries`() throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        let write = try environment.beginWrite()
        for _ in 0..<10_000 { try index.insert(5, ObjectKey(9), in: write.handle) }
        for key in 0..<2000 { try index.insert(5, ObjectKey(Int64(key)), in: write.handle) }
        try index.flush(in: write.handle)
        #expect(try index.count(in: write.handle) == 12_000)
        for _ in 0..<9_990 { try index.remove(5, ObjectKey(9), in: write.handle) }
        try index.flush(in: write.handle)
        let keys = try index.keys(equalTo: 5, in: write.handle)
        #expect(keys.count == 2010)
        #expect(keys.count { $0 == ObjectKey(9) } == 11)
    }

    @Test func `an integer index frees the space of removed entries`() throws {
        let environment = try TemporaryEnvironment()
        let index = IntIndex(
            table: TableID(1), column: ColumnID(1), tables: environment.indexTables())
        var generator = SeededGenerator(seed: 1)
        let values = (0..<8_000).map { _ in Int64.random(in: .min ... .max, using: &generator) }
        let write = try environment.beginWrite()
        for (key, value) in values.enumerated() {
            try index.insert(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        let full = try write.handle.statistics(environment.blocks).entries
        for (key, value) in values.enumerated() where key % 50 != 0 {
            try index.remove(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        #expect(try write.handle.statistics(environment.blocks).entries < full / 5)
        #expect(try index.count(in: write.handle) == 160)
        for (key, value) in values.enumerated() where key % 50 == 0 {
            try index.remove(value, ObjectKey(Int64(key)), in: write.handle)
        }
        try index.flush(in: write.handle)
        #expect(try write.handle.statistics(environment.blocks).entries == 0)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `an integer index reports damaged blocks and never reads outside of them`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables()
        let index = IntIndex(table: TableID(1), column: ColumnID(1), tables: tables)
        let write = try environment.beginWrite()
        for key in 0..<Int64(300) {
            let value = Int64.random(in: 0...100_000, using: &generator)
            try index.insert(value, ObjectKey(key), in: write.handle)
        }
        try index.flush(in: write.handle)
        for _ in 0..<20 {
            let cursor = try write.handle.cursor(environment.blocks)
            let first = try #require(try cursor.first())
            let keyBytes = [UInt8](first.key)
            var bytes = [UInt8](first.value)
            let offset = Int.random(in: 0..<Swift.min(bytes.count, 24), using: &generator)
            bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            if Bool.random(using: &generator) { bytes.removeLast(3) }
            try keyBytes.withUnsafeBytes { keyBytes in
                try bytes.withUnsafeBytes { try write.handle.put(environment.blocks, keyBytes, $0) }
            }
            tables.invalidate()
            for _ in 0..<20 {
                let value = Int64.random(in: 0...100_000, using: &generator)
                _ = try? index.find(value, in: write.handle)
                _ = try? index.keys(from: value, through: value + 500, in: write.handle)
            }
        }
    }
}
