import CSQLite

/// Notes in a full-text table of SQLite (FTS5).
final class SQLiteNotes: NoteStore {
    private let database: SQLiteDatabase
    private var search: SQLiteStatement?

    init(_ folder: String) throws {
        database = try SQLiteDatabase(path: "\(folder)/notes.sqlite", .never)
        try database.run("CREATE VIRTUAL TABLE note USING fts5 (body)")
    }

    func fill(_ notes: Notes) throws {
        try database.run("BEGIN IMMEDIATE")
        let insert = try database.prepare("INSERT INTO note (body) VALUES (?)")
        for index in 0..<notes.count {
            try insert.bind(1, notes.text(index))
            try insert.run()
        }
        try database.run("INSERT INTO note (note) VALUES ('optimize')")
        try database.run("COMMIT")
        search = try database.prepare("SELECT count(*) FROM note WHERE note MATCH ?")
    }

    func count(containing words: String) throws -> Int {
        guard let search else { return 0 }
        try search.bind(1, words)
        return Int(try search.integer())
    }
}
