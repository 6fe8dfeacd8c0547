import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// Small commits at the end of a table, where rows wait to be packed into leaves.
@Suite struct TailTests {
    let rows = StorageModelTests()
    let table = everyKind.id

    private func open(_ path: String) throws -> Snapshot {
        let snapshot = try Snapshot(
            try ColumnFile.open(path: path, options: FileOptions(durability: .memory)))
        try snapshot.configure([everyKind])
        return snapshot
    }

    /// Compares only the newest rows, and the result of a scan of them.
    private func check(
        _ snapshot: Snapshot, _ model: StorageModelTests.Model, _ what: @autoclosure () -> String
    ) throws {
        let reader = try snapshot.table(table)
        #expect(reader.count == model.count, "\(what())")
        let newest = max(0, reader.keyBound - 24)
        for raw in newest..<reader.keyBound {
            let key = ObjectKey(raw)
            guard let row = model[key] else {
                #expect(try !reader.isPresent(key), "\(what()): row \(raw) is there")
                continue
            }
            guard try ModelRow(reader, key) == row else {
                try Issue.record("\(what()): row \(raw) is \(ModelRow(reader, key)), not \(row)")
                return
            }
        }
        var found: [ObjectKey] = []
        for cluster in 0..<reader.clusterCount {
            try reader.matches(
                ColumnID(4), cluster, .intBetween(1, 2), among: reader.presence(cluster)
            ).forEachRow { found.append(ObjectKey(Int64(cluster * Cluster.rows + $0))) }
        }
        #expect(found == model.filter { (1...2).contains($0.value.optional ?? 0) }.keys.sorted())
    }

    @Test(arguments: 1...6)
    func `small commits behave like a dictionary of rows`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let path = rows.folder.file("tail-\(seed)")
        var live = try open(path)
        var model: StorageModelTests.Model = [:]
        _ = try live.beginWrite()
        try live.write!.define(everyKind)
        func insert(_ write: WriteSession) {
            let key = write.insert(table)
            model[key] = ModelRow()
            write.setNull(table, ColumnID(2), key)
            for column in 0..<9 { rows.change(&model, write, key, column, &random) }
        }
        // Leaves at the start, shortly before the first cluster is full; or nothing.
        for _ in 0..<(seed % 2 == 0 ? 440 : 0) { insert(live.write!) }
        try live.commit(keepingLeft: true)
        var observer = try open(path)
        var seen = model
        var older: [(snapshot: Snapshot, model: StorageModelTests.Model)] = []
        for round in 0..<140 {
            let before = model
            _ = try live.beginWrite()
            let write = live.write!
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                switch Int.random(in: 0..<40, using: &random) {
                case 0: for _ in 0..<Int.random(in: 10...80, using: &random) { insert(write) }
                case 1: for overlay in write.overlays.values { try overlay.flushAll() }
                case 2: try check(live, model, "seed \(seed), round \(round), inside")
                case 3...24: insert(write)
                default:
                    let bound = try live.table(table).keyBound
                    let first = max(0, bound - Int64.random(in: 1...40, using: &random))
                    guard let key = model.keys.filter({ $0.rawValue >= first }).min() else {
                        continue
                    }
                    if Int.random(in: 0..<3, using: &random) == 0 {
                        try write.delete(table, key)
                        model[key] = nil
                    } else {
                        let column = Int.random(in: 0..<9, using: &random)
                        rows.change(&model, write, key, column, &random)
                    }
                }
            }
            let where_ = "seed \(seed), round \(round)"
            try check(live, model, "\(where_), inside the write")
            if Int.random(in: 0..<10, using: &random) == 0 {
                live.cancelWrite()
                model = before
                try check(live, model, "\(where_), canceled")
                continue
            }
            let left = try #require(try live.commit(keepingLeft: true))
            if round % 2 == 0 { try check(live, model, "\(where_), committed") }
            try check(left, before, "\(where_), version before")
            if Int.random(in: 0..<3, using: &random) == 0 {
                if let left = try observer.advance() { try check(left, seen, "\(where_), left") }
                seen = model
                try check(observer, seen, "\(where_), another snapshot")
            } else {
                try check(observer, seen, "\(where_), a snapshot that stays")
            }
            if round % 20 == 3 { older.append((left, before)) }
            if round % 45 == 44 {
                for (snapshot, model) in older { try check(snapshot, model, "older version") }
                older = []
                live.close()
                observer.close()
                live = try open(path)
                observer = try open(path)
                seen = model
                try rows.check(live, model, "\(where_), reopened")
            }
        }
        try rows.check(live, model, "seed \(seed), at the end")
    }

    @Test func `single insertions stay in the inline tail until the cluster is full`() throws {
        let live = try open(rows.folder.file())
        _ = try live.beginWrite()
        try live.write!.define(everyKind)
        try live.commit(keepingLeft: true)
        func nodes() throws -> (rows: Int, leaves: Int) {
            let handle = try #require(live.source.handle)
            let tables = live.file.tables
            var keys: Set<UInt64> = []
            let cursor = try handle.cursor(tables.tail)
            var entry = try cursor.first()
            while let found = entry {
                keys.insert(found.integerKey)
                entry = try cursor.next()
            }
            try DeltaBuffer.read(handle).forEach { home, key, _ in
                if home == .tail { keys.insert(key) }
            }
            return (keys.count - 1, try handle.statistics(tables.leaves(of: table)).entries)
        }
        for number in 0..<Cluster.rows {
            _ = try live.beginWrite()
            let key = live.write!.insert(table)
            live.write!.set(table, ColumnID(0), key, int: Int64(number))
            try live.commit(keepingLeft: true)
            if number == 100 { #expect(try nodes() == (101, 0)) }
        }
        #expect(try nodes().rows == 0)
        #expect(try nodes().leaves == everyKind.columns.count + 1)
        for number in 0..<Cluster.rows {
            #expect(
                try live.table(table).int(ColumnID(0), ObjectKey(Int64(number))) == Int64(number))
        }
    }

    @Test func `rows of the inline tail keep their values when columns are added`() throws {
        let live = try open(rows.folder.file())
        _ = try live.beginWrite()
        try live.write!.define(everyKind)
        let key = live.write!.insert(table)
        live.write!.set(table, ColumnID(1), key, string: "waiting")
        try live.commit(keepingLeft: true)
        var wider = everyKind
        wider.columns.append(ColumnDefinition(id: ColumnID(9), kind: .int, isOptional: true))
        _ = try live.beginWrite()
        try live.write!.define(wider)
        let second = live.write!.insert(table)
        live.write!.set(table, ColumnID(9), second, int: 9)
        try live.commit(keepingLeft: true)
        for snapshot in [live, try Snapshot(live.file)] {
            try snapshot.configure([wider])
            #expect(try snapshot.table(table).string(ColumnID(1), key) == "waiting")
            #expect(try snapshot.table(table).int(ColumnID(9), key) == nil)
            #expect(try snapshot.table(table).int(ColumnID(9), second) == 9)
        }
    }
}
