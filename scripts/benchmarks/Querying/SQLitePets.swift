/// People and pets in SQLite, with prepared statements.
final class SQLitePets: PetStore {
    private let database: SQLiteDatabase
    private var numbers: SQLiteStatement?
    private var names: SQLiteStatement?
    private var tag: SQLiteStatement?

    init(_ folder: String) throws {
        database = try SQLiteDatabase(path: "\(folder)/pets.sqlite", .never)
        try database.run(
            """
            CREATE TABLE owner (
                id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL,
                age INTEGER NOT NULL)
            """)
        try database.run("CREATE TABLE pet (tag TEXT NOT NULL, owner INTEGER REFERENCES owner)")
    }

    func fill(_ people: People) throws {
        let owners = people.randomKeys(people.count, seed: 9)
        try database.run("BEGIN IMMEDIATE")
        let person = try database.prepare("INSERT INTO owner VALUES (?, ?, ?, ?)")
        let pet = try database.prepare("INSERT INTO pet VALUES (?, ?)")
        for index in people.indices {
            let one = people.person(index)
            person.bind(1, one.id)
            person.bind(2, one.id)
            try person.bind(3, one.name.string)
            person.bind(4, one.age)
            try person.run()
            try pet.bind(1, "tag \(index)")
            pet.bind(2, owners[index])
            try pet.run()
        }
        try database.run("COMMIT")
        try database.run("CREATE INDEX pet_tag ON pet (tag)")
        try database.run("ANALYZE")
    }

    func prepare(numbers: [Int64], names: [String]) throws {
        let list = numbers.map(String.init).joined(separator: ", ")
        self.numbers = try database.prepare(
            "SELECT count(*) FROM owner WHERE number IN (\(list))")
        let texts = names.map { "'\($0)'" }.joined(separator: ", ")
        self.names = try database.prepare("SELECT count(*) FROM owner WHERE name IN (\(texts))")
        tag = try database.prepare("SELECT count(*) FROM pet WHERE tag = ?")
    }

    func countPeople() throws -> Int {
        let statement = try database.prepare(
            "SELECT count(*) FROM owner WHERE age > 50 AND name >= 'A' AND name < 'B'")
        return Int(try statement.integer())
    }

    func countPets() throws -> Int {
        let statement = try database.prepare(
            """
            SELECT count(*) FROM pet JOIN owner ON owner.id = pet.owner
            WHERE owner.age > 50 AND owner.name >= 'A' AND owner.name < 'B'
            """)
        return Int(try statement.integer())
    }

    func find(tag text: String) throws -> Int {
        guard let tag else { return 0 }
        try tag.bind(1, text)
        return Int(try tag.integer())
    }

    func countNumbers() throws -> Int { Int(try numbers?.integer() ?? 0) }

    func countNames() throws -> Int { Int(try names?.integer() ?? 0) }
}
