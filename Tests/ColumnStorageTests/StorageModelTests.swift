import TestThreads
import Testing

@testable import ColumnStorage
@testable import LMDBStorage

/// A row of `everyKind` as plain values.
struct ModelRow: Equatable {
    var number: Int64 = 0
    var name = ""
    var score: Double?
    var isActive = false
    var optional: Int64?
    var ratio: Float = 0
    var data: [UInt8]?
    var wide = [UInt8](repeating: 0, count: 16)
    var narrow: [UInt8]?

    init() {}

    init(_ reader: TableReader, _ key: ObjectKey) throws {
        func bytes(_ column: Int) throws -> [UInt8]? {
            try reader.withBytes(ColumnID(column), key) { $0.withUnsafeBytes { [UInt8]($0) } }
        }
        number = try reader.int(ColumnID(0), key) ?? -1
        name = try reader.string(ColumnID(1), key) ?? "none"
        score = try reader.double(ColumnID(2), key)
        isActive = try reader.bool(ColumnID(3), key) ?? false
        optional = try reader.int(ColumnID(4), key)
        ratio = try reader.float(ColumnID(5), key) ?? -1
        data = try bytes(6)
        wide = try bytes(7) ?? []
        narrow = try bytes(8)
    }
}

@Suite struct StorageModelTests {
    let folder = TemporaryFolder()
    let table = everyKind.id

    typealias Model = [ObjectKey: ModelRow]

    func change(
        _ model: inout Model, _ write: WriteSession, _ key: ObjectKey, _ column: Int,
        _ random: inout SeededGenerator
    ) {
        let id = ColumnID(column)
        let isNull = Int.random(in: 0..<4, using: &random) == 0
        // A few values are long, and most columns have few distinct values.
        let length =
            Int.random(in: 0..<40, using: &random) == 0
            ? 3000 : Int.random(in: 0..<12, using: &random)
        let text = [UInt8](repeating: UInt8.random(in: 97...122, using: &random), count: length)
        var row = model[key] ?? ModelRow()
        switch column {
        case 0:
            let shift = Int64.random(in: 0..<64, using: &random)
            row.number = Int64.random(in: .min ... .max, using: &random) >> shift
            write.set(table, id, key, int: row.number)
        case 1:
            row.name = String(decoding: text, as: UTF8.self)
            write.set(table, id, key, string: row.name)
        case 2:
            row.score = isNull ? nil : Double.random(in: -10...10, using: &random)
            if let score = row.score { write.set(table, id, key, double: score) }
        case 3:
            row.isActive = Bool.random(using: &random)
            write.set(table, id, key, bool: row.isActive)
        case 4:
            row.optional = isNull ? nil : Int64.random(in: -3...3, using: &random)
            if let value = row.optional { write.set(table, id, key, int: value) }
        case 5:
            row.ratio = Float.random(in: 0...1, using: &random)
            write.set(table, id, key, float: row.ratio)
        case 6:
            row.data = isNull ? nil : text
            if let data = row.data { write.set(table, id, key, bytes: data) }
        case 7:
            row.wide = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
            write.set(table, id, key, bytes: row.wide)
        default:
            row.narrow =
                isNull ? nil : (0..<12).map { _ in UInt8.random(in: 0...255, using: &random) }
            if let narrow = row.narrow { write.set(table, id, key, bytes: narrow) }
        }
        if isNull && [2, 4, 6, 8].contains(column) { write.setNull(table, id, key) }
        model[key] = row
    }

    func check(_ snapshot: Snapshot, _ model: Model, _ what: String) throws {
        let reader = try snapshot.table(table)
        #expect(reader.count == model.count, "\(what)")
        var present = 0
        for cluster in 0..<reader.clusterCount { present += try reader.presence(cluster).rowCount }
        #expect(present == model.count, "\(what)")
        // The first few hundred in the order of the dictionary, which is different each time.
        for (key, row) in model.prefix(300) {
            guard try ModelRow(reader, key) == row else {
                try Issue.record(
                    "\(what): row \(key.rawValue) is \(ModelRow(reader, key)), not \(row)")
                return
            }
        }
    }

    @Test(arguments: RandomSeeds.sample(2, of: 1...4))
    func `a table behaves like a dictionary of rows`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let path = folder.file("model-\(seed)")
        // Flushing slows down all other tests, so only one seed tests recovery from the log.
        let durability = seed == 1 ? Durability.full : .memory
        func open() throws -> Snapshot {
            let snapshot = try Snapshot(
                try ColumnFile.open(path: path, options: FileOptions(durability: durability)))
            try snapshot.file.lease().environment.log?.pace.threshold = 0
            try snapshot.configure([everyKind])
            return snapshot
        }
        var live = try open()
        _ = try live.beginWrite()
        try live.write!.define(everyKind)
        try live.commit(keepingLeft: true)
        var model: Model = [:]
        var older: [(snapshot: Snapshot, model: Model)] = []
        for round in 0..<30 {
            let before = model
            _ = try live.beginWrite()
            let write = live.write!
            var inserted: Set<ObjectKey> = []
            var deleted: Set<ObjectKey> = []
            var modified: [Int: Set<ObjectKey>] = [:]
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...2:
                    let count = Int.random(in: 0..<60, using: &random) == 0 ? 700 : 1
                    for _ in 0..<count {
                        let key = write.insert(table)
                        model[key] = ModelRow()
                        inserted.insert(key)
                        for column in 0..<9 {
                            if model[key]?.score == nil { write.setNull(table, ColumnID(2), key) }
                            change(&model, write, key, column, &random)
                        }
                    }
                case 3:
                    guard let key = model.keys.randomElement(using: &random) else { continue }
                    try write.delete(table, key)
                    model[key] = nil
                    if inserted.remove(key) == nil { deleted.insert(key) }
                case 4:
                    // The same happens automatically when memory exceeds the limit.
                    for overlay in write.overlays.values { try overlay.flushAll() }
                default:
                    guard let key = model.keys.randomElement(using: &random) else { continue }
                    let column = Int.random(in: 0..<9, using: &random)
                    change(&model, write, key, column, &random)
                    modified[column, default: []].insert(key)
                }
            }
            try check(live, model, "seed \(seed), round \(round), inside the write")
            if Int.random(in: 0..<5, using: &random) == 0 {
                live.cancelWrite()
                model = before
                try check(live, model, "seed \(seed), round \(round), canceled")
                continue
            }
            let left = try #require(try live.commit(keepingLeft: true))
            try check(live, model, "seed \(seed), round \(round), committed")
            if durability == .full, round % RandomSeeds.count(3, of: 1) == 0 {
                #expect(try RecoveredCopy.isSame(path), "seed \(seed), round \(round), recovered")
            }
            try check(left, before, "seed \(seed), round \(round), version before")
            let changes = try #require(try live.changes(from: left.version, to: live.version))
            let own = changes.tables[table] ?? TableChanges()
            #expect(own.inserted == KeySet(unordered: Array(inserted)))
            #expect(own.deleted == KeySet(unordered: Array(deleted)))
            for column in 0..<9 {
                let wanted = (modified[column] ?? []).subtracting(inserted).subtracting(deleted)
                    .filter { model[$0] != nil }
                #expect(
                    own.modified[ColumnID(column)] ?? KeySet() == KeySet(unordered: Array(wanted)))
            }
            if round % 10 == 3 { older.append((left, before)) }
            if round % 13 == 7 {
                for (snapshot, model) in older { try check(snapshot, model, "older version") }
                older = []
                live.close()
                live = try open()
                try check(live, model, "reopened")
            }
        }
        for (snapshot, model) in older { try check(snapshot, model, "older version") }
        #expect(try live.verify() == [])
    }
}
