import CSQLite

/// SQLite through its C interface, with prepared statements.
final class SQLiteContestant: Contestant {
    let name = "SQLite"
    private var database: SQLiteDatabase?
    private var folder = ""
    private var held: [Int64] = []

    func supports(_ durability: Durability) -> Bool { durability != .soonAfter }

    func open(folder: String, _ durability: Durability) throws {
        let database = try SQLiteDatabase(path: Self.path(folder), durability)
        try database.run(
            """
            CREATE TABLE IF NOT EXISTS person (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL,
                score REAL NOT NULL, active INTEGER NOT NULL)
            """)
        self.folder = folder
        self.database = database
    }

    func close() { database = nil }

    static func path(_ folder: String) -> String { "\(folder)/people.sqlite" }

    private func prepare(_ text: String) throws -> SQLiteStatement {
        guard let database else { throw BenchmarkError("sqlite: not open") }
        return try database.prepare(text)
    }

    private static let insertion = "INSERT INTO person VALUES (?, ?, ?, ?, ?)"

    private func add(_ person: Person, through statement: SQLiteStatement) throws {
        statement.bind(1, person.id)
        statement.bind(3, person.age)
        statement.bind(4, person.score)
        statement.bind(5, person.active ? 1 : Int64(0))
        try person.name.withBytes { bytes in
            let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            // No destructor: the bytes outlive the step, so SQLite need not copy them.
            sqlite3_bind_text(statement.handle, 2, text, Int32(bytes.count), nil)
            try statement.run()
        }
    }

    func insert(_ people: People) throws -> Double {
        let statement = try prepare(Self.insertion)
        return try seconds {
            try database?.run("BEGIN IMMEDIATE")
            for index in people.indices { try add(people.person(index), through: statement) }
            try database?.run("COMMIT")
        }
    }

    func insertEach(_ people: People) throws -> Double {
        let statement = try prepare(Self.insertion)
        return try seconds {
            for index in people.indices { try add(people.person(index), through: statement) }
        }
    }

    func updateScores(of keys: [Int64], from base: Int) throws -> Double {
        let statement = try prepare("UPDATE person SET score = ? WHERE id = ?")
        return try seconds {
            for (number, key) in keys.enumerated() {
                statement.bind(1, Double(base + number))
                statement.bind(2, key)
                try statement.run()
            }
        }
    }

    func sumOfAges() throws -> Int64 {
        let statement = try prepare("SELECT age FROM person")
        var sum: Int64 = 0
        while try statement.next() { sum += sqlite3_column_int64(statement.handle, 0) }
        return sum
    }

    func hold(_ keys: [Int64]) { held = keys }
    func sumOfHeldAges() throws -> Int64 { try sumOfAges(of: held) }

    func sumOfAges(of keys: [Int64]) throws -> Int64 {
        try database?.run("BEGIN")  // one snapshot for all, as in the other contestants
        let statement = try prepare("SELECT age FROM person WHERE id = ?")
        var sum: Int64 = 0
        for key in keys {
            statement.bind(1, key)
            sum += try statement.integer()
        }
        try database?.run("COMMIT")
        return sum
    }

    func sumOfScores(of keys: [Int64]) throws -> Double {
        let statement = try prepare("SELECT score FROM person WHERE id = ?")
        var sum = 0.0
        for key in keys {
            statement.bind(1, key)
            if try statement.next() { sum += sqlite3_column_double(statement.handle, 0) }
            sqlite3_reset(statement.handle)
        }
        return sum
    }

    func countOlder(than age: Int64) throws -> Int {
        let statement = try prepare("SELECT count(*) FROM person WHERE age > ?")
        statement.bind(1, age)
        return Int(try statement.integer())
    }

    func countOlder(than age: Int64, namePrefix: String) throws -> Int {
        // Faster than LIKE and GLOB. The letters are ASCII, so the next letter ends the range.
        let next = String(UnicodeScalar(namePrefix.utf8.first! + 1))
        let statement = try prepare(
            "SELECT count(*) FROM person WHERE age > ? AND name >= '\(namePrefix)' AND name < '\(next)'"
        )
        statement.bind(1, age)
        return Int(try statement.integer())
    }

    func sumOfActiveScores() throws -> Double {
        let statement = try prepare("SELECT sum(score) FROM person WHERE active")
        guard try statement.next() else { return 0 }
        defer { sqlite3_reset(statement.handle) }
        return sqlite3_column_double(statement.handle, 0)
    }

    func keysByScore() throws -> [Int64] { try keys("SELECT id FROM person ORDER BY score") }

    func firstKeysByScore() throws -> [Int64] {
        try keys("SELECT id FROM person ORDER BY score LIMIT 100")
    }

    private func keys(_ query: String) throws -> [Int64] {
        let statement = try prepare(query)
        var keys: [Int64] = []
        var last: Int64?
        while try statement.next() {
            let key = sqlite3_column_int64(statement.handle, 0)
            if keys.count < 100 { keys.append(key) } else { last = key }
        }
        return keys + (last.map { [$0] } ?? [])
    }

    func deleteYounger(than age: Int64) throws -> Int {
        let statement = try prepare("DELETE FROM person WHERE age < ?")
        statement.bind(1, age)
        try statement.run()
        return database?.changedRows ?? 0
    }

    /// A table has no list, so there is no club.
    func insertClub() {}
    func updateObserved(_ keys: [Int64], commits: Int) -> Double? { nil }
    func appendToClub(_ key: Int64) throws -> Beginning {
        throw BenchmarkError("SQLite has no lists")
    }

    func insertPets() throws {
        try database?.run("CREATE TABLE pet (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL)")
        try database?.run("INSERT INTO pet SELECT id, id FROM person")
    }

    func observe(
        _ observed: Observed, isRemote: Bool, called: @escaping @Sendable (Int) -> Void
    ) throws -> (any Observation)? {
        // SQLite does not notify another process of a commit.
        guard !isRemote,
            let observation = SQLiteObservation(
                path: Self.path(folder), observed: observed, called: called)
        else { return nil }
        committed = { observation.wake() }
        return observation
    }

    /// SQLite has no notifications across connections, so the writer reports each commit.
    private var committed: () -> Void = {}

    func setAge(_ age: Int64, of key: Int64) throws -> Beginning {
        try set("UPDATE person SET age = ? WHERE id = ?", key) { $0.bind(1, age) }
    }

    func setScore(_ score: Double, of key: Int64) throws -> Beginning {
        try set("UPDATE person SET score = ? WHERE id = ?", key) { $0.bind(1, score) }
    }

    private func set(
        _ text: String, _ key: Int64, _ bind: (SQLiteStatement) -> Void
    ) throws -> Beginning {
        let statement = try prepare(text)
        bind(statement)
        statement.bind(2, key)
        let start = nanoseconds()
        try statement.run()
        committed()
        return { start }
    }
}
