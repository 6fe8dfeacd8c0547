import LMDBStorage
import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct BytesIndexTests {
    private struct Pair: Hashable, Comparable {
        var bytes: [UInt8]
        var key: Int64

        static func < (left: Pair, right: Pair) -> Bool {
            if left.bytes != right.bytes {
                return left.bytes.lexicographicallyPrecedes(right.bytes)
            }
            return left.key < right.key
        }
    }

    /// A multiset of entries in order.
    private struct Model {
        var entries: [Pair] = []

        private func index(of entry: Pair) -> Int {
            var low = 0
            var high = entries.count
            while low < high {
                let middle = (low + high) / 2
                if entries[middle] < entry { low = middle + 1 } else { high = middle }
            }
            return low
        }
        mutating func insert(_ entry: Pair) { entries.insert(entry, at: index(of: entry)) }
        mutating func remove(_ entry: Pair) { entries.remove(at: index(of: entry)) }
    }

    /// Typical values of an index: words, few distinct values, zero bytes, prefixes of each other, and very long values
    /// with a common prefix.
    private func randomBytes(_ style: UInt64, _ generator: inout SeededGenerator) -> [UInt8] {
        func letters(_ count: Int, _ range: ClosedRange<UInt8>) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: range, using: &generator) }
        }
        switch style % 5 {
        case 0: return letters(Int.random(in: 0...12, using: &generator), 97...122)
        case 1: return [97, UInt8.random(in: 97...101, using: &generator)]
        case 2: return letters(Int.random(in: 0...9, using: &generator), 0...1)
        case 3:
            let length = [0, 3, 250, 480, 506, 507, 508, 600, 2500].randomElement(
                using: &generator)!
            return [UInt8](repeating: 0x41, count: length) + letters(2, 0...3)
        default:
            return letters(Int.random(in: 0...3, using: &generator), 0...255)
                + [UInt8](repeating: 0, count: Int.random(in: 0...300, using: &generator))
        }
    }

    private func check(
        _ index: BytesIndex, _ model: Model, _ handle: TransactionHandle, _ style: UInt64,
        _ generator: inout SeededGenerator, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for _ in 0..<6 {
            let bytes =
                Bool.random(using: &generator)
                ? model.entries.randomElement(using: &generator)?.bytes ?? []
                : randomBytes(style, &generator)
            let expected = model.entries.filter { $0.bytes == bytes }.map(\.key)
            let found = try bytes.withUnsafeBytes { try index.find($0, in: handle) }
            #expect(found?.rawValue == expected.first, sourceLocation: sourceLocation)
            let keys = try bytes.withUnsafeBytes { try index.keys(equalTo: $0, in: handle) }
            #expect(keys.map(\.rawValue) == expected, sourceLocation: sourceLocation)
            let prefix = [UInt8](bytes.prefix(2))
            let beginning = try index.keys(withPrefix: prefix, atMost: .max, in: handle)
            #expect(
                beginning?.map(\.rawValue)
                    == model.entries.filter { $0.bytes.starts(with: prefix) }.map(\.key),
                sourceLocation: sourceLocation)
            let other = randomBytes(style, &generator)
            let range = try index.keys(from: bytes, below: other, in: handle)
            #expect(
                range.map(\.rawValue)
                    == model.entries.filter {
                        !$0.bytes.lexicographicallyPrecedes(bytes)
                            && $0.bytes.lexicographicallyPrecedes(other)
                    }.map(\.key), sourceLocation: sourceLocation)
        }
        var all: [Pair] = []
        try index.forEach(in: handle) { bytes, key in
            all.append(Pair(bytes: [UInt8](bytes), key: key.rawValue))
            return true
        }
        #expect(all == model.entries, sourceLocation: sourceLocation)
    }

    @Test(arguments: RandomSeeds.sample(3, of: 1...10 as ClosedRange<UInt64>))
    func `a bytes index behaves like a sorted multiset through writes and reopening`(
        seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        // Neighbors in the same table must not be read or changed.
        let columns = [ColumnID(2), ColumnID(1), ColumnID(3)]
        let minPages = seed % 2 == 0 ? 1 : Int.max
        var tables = environment.indexTables(minPages: minPages)
        func make() -> [BytesIndex] {
            columns.map { BytesIndex(table: TableID(255), column: $0, tables: tables) }
        }
        var indexes = make()
        var committed = [Model](repeating: Model(), count: 3)
        for _ in 0..<6 {
            var models = committed
            let write = try environment.beginWrite()
            tables.invalidate()
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let which = Int.random(in: 0..<3, using: &generator)
                let index = indexes[which]
                if Int.random(in: 0..<3, using: &generator) > 0 {
                    for _ in 0..<Int.random(in: 1...400, using: &generator) {
                        let pair = Pair(
                            bytes: randomBytes(seed, &generator),
                            key: .random(in: 0...500, using: &generator))
                        try pair.bytes.withUnsafeBytes {
                            try index.insert($0, ObjectKey(pair.key), in: write.handle)
                        }
                        models[which].insert(pair)
                    }
                } else {
                    let share = Int.random(in: 1...100, using: &generator)
                    for pair in models[which].entries
                    where Int.random(in: 0..<100, using: &generator) < share {
                        try pair.bytes.withUnsafeBytes {
                            try index.remove($0, ObjectKey(pair.key), in: write.handle)
                        }
                        models[which].remove(pair)
                    }
                }
                if Bool.random(using: &generator) {
                    try check(index, models[which], write.handle, seed, &generator)
                }
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    try index.flush(in: write.handle)
                    for other in 0..<3 {
                        try check(indexes[other], models[other], write.handle, seed, &generator)
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
                tables = environment.indexTables(minPages: minPages, hasRuns: tables.hasRuns)
                indexes = make()
            }
            let read = try environment.beginRead()
            for which in 0..<3 {
                try check(indexes[which], committed[which], read.handle, seed, &generator)
            }
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `ascending entries with lookups and other changes between them are found`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables()
        let index = BytesIndex(table: TableID(1), column: ColumnID(1), tables: tables)
        var model = Model()
        var next = 0
        for _ in 0..<4 {
            let write = try environment.beginWrite()
            tables.invalidate()
            for _ in 0..<Int.random(in: 1...600, using: &generator) {
                var text = "key \(next + 1_000_000)"
                switch Int.random(in: 0..<(seed % 2 == 0 ? 12 : 300), using: &generator) {
                case 0:
                    text = "key \(Int.random(in: 1_000_000...1_000_000 + next, using: &generator))"
                case 1 where !model.entries.isEmpty:
                    // Safe because there are entries.
                    let gone = model.entries.randomElement(using: &generator)!
                    try gone.bytes.withUnsafeBytes {
                        try index.remove($0, ObjectKey(gone.key), in: write.handle)
                    }
                    model.remove(gone)
                    continue
                case 2: try index.flush(in: write.handle)
                case 3:
                    text =
                        model.entries.last.map { String(decoding: $0.bytes, as: UTF8.self) } ?? text
                default: next += Int.random(in: 1...3, using: &generator)
                }
                let pair = Pair(bytes: Array(text.utf8), key: Int64(next) + 5)
                let isKnown = model.entries.contains { $0.bytes == pair.bytes }
                let found = try pair.bytes.withUnsafeBytes { try index.find($0, in: write.handle) }
                #expect((found != nil) == isKnown)
                try pair.bytes.withUnsafeBytes {
                    try index.insert($0, ObjectKey(pair.key), in: write.handle)
                }
                model.insert(pair)
            }
            try check(index, model, write.handle, 0, &generator)
            try index.flush(in: write.handle)
            try write.commit()
            tables.invalidate()
            let read = try environment.beginRead()
            try check(index, model, read.handle, 0, &generator)
        }
    }

    @Test(arguments: [0, 1, 500])
    func `a bytes index finds exactly the entries of early merges`(before: Int) throws {
        var generator = SeededGenerator(seed: UInt64(before))
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables()
        let index = BytesIndex(
            table: TableID(1), column: ColumnID(1), tables: tables, pendingLimit: 8 << 10)
        var model: [[UInt8]: Int64] = [:]
        func bytes(_ number: Int) -> [UInt8] { Array("value \(number &* 7919 % 100_003)".utf8) }
        func write(_ count: Int, commits: Bool) throws {
            let write = try environment.beginWrite()
            let handle = write.handle
            let kept = model
            for _ in 0..<count {
                let value = bytes(Int.random(in: 0..<20_000, using: &generator))
                let found = try value.withUnsafeBytes { try index.find($0, in: handle) }
                #expect(found?.rawValue == model[value])
                if let key = model[value] {
                    guard Bool.random(using: &generator) else { continue }
                    try value.withUnsafeBytes {
                        try index.remove($0, ObjectKey(rawValue: key), in: handle)
                    }
                    model[value] = nil
                } else {
                    let key = Int64.random(in: 0..<1_000_000, using: &generator)
                    try value.withUnsafeBytes {
                        try index.insert($0, ObjectKey(rawValue: key), in: handle)
                    }
                    model[value] = key
                }
            }
            if commits {
                try index.flush(in: handle)
                index.cancel()
                try write.commit()
            } else {
                index.cancel()
                write.abort()
                model = kept
            }
            tables.invalidate()
        }
        if before > 0 { try write(before, commits: true) }
        try write(3_000, commits: false)
        for _ in 0..<3 { try write(3_000, commits: true) }
        #expect(!model.isEmpty)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `a bytes index reports damaged blocks and never reads outside of them`(seed: UInt64) throws
    {
        var generator = SeededGenerator(seed: seed)
        let environment = try TemporaryEnvironment()
        let tables = environment.indexTables()
        let index = BytesIndex(table: TableID(1), column: ColumnID(1), tables: tables)
        let write = try environment.beginWrite()
        for key in 0..<Int64(60) {
            try randomBytes(0, &generator).withUnsafeBytes {
                try index.insert($0, ObjectKey(key), in: write.handle)
            }
        }
        try index.flush(in: write.handle)
        for _ in 0..<40 {
            let first = try #require(try write.handle.cursor(environment.blocks).first())
            let key = [UInt8](first.key)
            var bytes = [UInt8](first.value)
            let offset = Int.random(in: 0..<Swift.min(bytes.count, 300), using: &generator)
            bytes[offset] = UInt8.random(in: 0...255, using: &generator)
            if Int.random(in: 0..<4, using: &generator) == 0 { bytes.removeLast(1) }
            try key.withUnsafeBytes { key in
                try bytes.withUnsafeBytes { try write.handle.put(environment.blocks, key, $0) }
            }
            tables.invalidate()
            for _ in 0..<10 {
                try? randomBytes(0, &generator).withUnsafeBytes {
                    _ = try index.find($0, in: write.handle)
                    _ = try index.keys(equalTo: $0, in: write.handle)
                }
            }
            _ = try? index.keys(from: [], below: nil, in: write.handle)
            try [1, 2, 3].withUnsafeBytes {
                try index.insert($0, ObjectKey(9), in: write.handle)
                // A search makes the changes searchable, also after merging them has failed.
                _ = try? index.keys(equalTo: $0, in: write.handle)
                try? index.flush(in: write.handle)
                _ = try? index.keys(equalTo: $0, in: write.handle)
            }
            index.cancel()
            if try write.handle.statistics(environment.blocks).entries == 0 { break }
        }
    }
}
