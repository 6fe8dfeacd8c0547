import CLMDB

/// Plain LMDB: each object is one value under its primary key.
///
/// No schema, no columns, no notifications: the lower bound that the storage below Moonpool sets.
final class LMDBContestant: Contestant {
    let name = "LMDB rows"
    private var opened: LMDBFile?
    private var folder = ""
    private var held: [Int64] = []
    /// Receives the keys that a commit has changed, for an observer.
    private var changed: (any ChangedKeys)?

    func supports(_ durability: Durability) -> Bool { durability != .soonAfter }

    func open(folder: String, _ durability: Durability) throws {
        opened = try LMDBFile(path: "\(folder)/people.lmdb", durability)
        self.folder = folder
        changed = PipedKeys(of: folder)
    }

    func close() {
        opened = nil
        changed = nil
    }

    private func file() throws -> LMDBFile {
        guard let opened else { throw BenchmarkError("lmdb: not open") }
        return opened
    }

    private func put(
        _ transaction: OpaquePointer, _ table: MDB_dbi, _ person: Person, flags: Int32
    ) throws {
        try LMDBRow.withBytes(of: person) { row in
            var id = person.id
            try withUnsafeMutableBytes(of: &id) { bytes in
                var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
                var value = MDB_val(mv_size: row.count, mv_data: row.baseAddress)
                try check(mdb_put(transaction, table, &key, &value, UInt32(flags)), "mdb_put")
            }
        }
    }

    func insert(_ people: People) throws -> Double {
        let file = try file()
        let flags = people.keys == .ascending ? MDB_APPEND : MDB_NOOVERWRITE
        return try seconds {
            try file.write { transaction in
                for index in people.indices {
                    try put(transaction, file.table, people.person(index), flags: flags)
                }
            }
        }
    }

    func insertEach(_ people: People) throws -> Double {
        let file = try file()
        return try seconds {
            for index in people.indices {
                try file.write {
                    try put($0, file.table, people.person(index), flags: MDB_NOOVERWRITE)
                }
            }
        }
    }

    func updateScores(of keys: [Int64], from base: Int) throws -> Double {
        try seconds {
            for (number, key) in keys.enumerated() {
                _ = try setScore(Double(base + number), of: key)
            }
        }
    }

    private func row(_ transaction: OpaquePointer, _ file: LMDBFile, _ key: Int64) throws -> MDB_val
    {
        try file.row(transaction, key)
    }

    func hold(_ keys: [Int64]) { held = keys }
    func sumOfHeldAges() throws -> Int64 { try sumOfAges(of: held) }

    func sumOfAges() throws -> Int64 {
        let file = try file()
        var sum: Int64 = 0
        try file.read {
            try file.each($0) { _, row, _ in
                sum += LMDBRow.age(row)
                return true
            }
        }
        return sum
    }

    func sumOfAges(of keys: [Int64]) throws -> Int64 {
        let file = try file()
        return try file.read { transaction in
            var sum: Int64 = 0
            for key in keys { sum += LMDBRow.age(try row(transaction, file, key).mv_data) }
            return sum
        }
    }

    func sumOfScores(of keys: [Int64]) throws -> Double {
        let file = try file()
        return try file.read { transaction in
            var sum = 0.0
            for key in keys { sum += LMDBRow.score(try row(transaction, file, key).mv_data) }
            return sum
        }
    }

    func countOlder(than age: Int64) throws -> Int {
        try count { LMDBRow.age($0) > age }
    }

    func countOlder(than age: Int64, namePrefix: String) throws -> Int {
        let letter = namePrefix.utf8.first!
        return try count { LMDBRow.age($0) > age && LMDBRow.firstLetter($0) == letter }
    }

    @inline(__always)
    private func count(_ matches: (UnsafeRawPointer) -> Bool) throws -> Int {
        let file = try file()
        var count = 0
        try file.read {
            try file.each($0) { _, row, _ in
                if matches(row) { count += 1 }
                return true
            }
        }
        return count
    }

    func sumOfActiveScores() throws -> Double {
        let file = try file()
        var sum = 0.0
        try file.read {
            try file.each($0) { _, row, _ in
                if LMDBRow.isActive(row) { sum += LMDBRow.score(row) }
                return true
            }
        }
        return sum
    }

    func keysByScore() throws -> [Int64] {
        let file = try file()
        var entries: [(score: Double, key: Int64)] = []
        try file.read {
            try file.each($0) { key, row, _ in
                entries.append((LMDBRow.score(row), key))
                return true
            }
        }
        entries.sort { $0.score < $1.score }
        let last = entries.count > 100 ? [entries[entries.count - 1].key] : []
        return entries.prefix(100).map(\.key) + last
    }

    func firstKeysByScore() throws -> [Int64] {
        let file = try file()
        var best: [(score: Double, key: Int64)] = []
        try file.read {
            try file.each($0) { key, row, _ in
                let score = LMDBRow.score(row)
                if best.count == 100 {
                    guard score < best[99].score else { return true }
                    best.removeLast()
                }
                let place = best.firstIndex { $0.score > score } ?? best.count
                best.insert((score, key), at: place)
                return true
            }
        }
        return best.map(\.key)
    }

    func deleteYounger(than age: Int64) throws -> Int {
        let file = try file()
        var deleted = 0
        try file.write { transaction in
            try file.each(transaction) { _, row, cursor in
                if LMDBRow.age(row) < age {
                    try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del")
                    deleted += 1
                }
                return true
            }
        }
        return deleted
    }

    func insertPets() {}
    func insertClub() {}
    func updateObserved(_ keys: [Int64], commits: Int) -> Double? { nil }
    func appendToClub(_ key: Int64) throws -> Beginning {
        throw BenchmarkError("LMDB has no lists")
    }

    func observe(
        _ observed: Observed, isRemote: Bool, called: @escaping @Sendable (Int) -> Void
    ) throws -> (any Observation)? {
        // Other queries would need an index.
        guard case .older(let age) = observed else { return nil }
        let changed: any ChangedKeys = isRemote ? try PipedKeys(in: folder) : SharedKeys()
        self.changed = changed
        return LMDBObservation(try file(), olderThan: age, changed, called: called)
    }

    func setAge(_ age: Int64, of key: Int64) throws -> Beginning {
        try change(key) { $0.storeBytes(of: age, toByteOffset: LMDBRow.ageOffset, as: Int64.self) }
    }

    func setScore(_ score: Double, of key: Int64) throws -> Beginning {
        try change(key) {
            $0.storeBytes(of: score, toByteOffset: LMDBRow.scoreOffset, as: Double.self)
        }
    }

    /// Reads, changes and writes one row in its own transaction.
    private func change(
        _ key: Int64, _ body: (UnsafeMutableRawBufferPointer) -> Void
    ) throws -> Beginning {
        let file = try file()
        let start = nanoseconds()
        try file.write { transaction in
            let old = try row(transaction, file, key)
            var buffer: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            try withUnsafeMutableBytes(of: &buffer) { bytes in
                bytes.baseAddress!.copyMemory(from: old.mv_data, byteCount: old.mv_size)
                body(bytes)
                var id = key
                try withUnsafeMutableBytes(of: &id) { idBytes in
                    var key = MDB_val(mv_size: 8, mv_data: idBytes.baseAddress)
                    var value = MDB_val(mv_size: old.mv_size, mv_data: bytes.baseAddress)
                    try check(mdb_put(transaction, file.table, &key, &value, 0), "mdb_put")
                }
            }
        }
        changed?.send(key)
        return { start }
    }
}
