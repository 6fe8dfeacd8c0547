import Glibc
import ObjectStore
import Transfer

/// W14: all people out into a file of text and in again, beside the command line of SQLite.
///
/// `sqlite3` reads no JSON Lines, and writes JSON as one list; where it is not installed its column stays empty.
enum TransferWorkload {
    private static func perSecond(_ title: String, _ bound: Double) -> Row {
        Row(title: "W14 \(title), rows", unit: .perSecond, swift: .atLeast(bound))
    }

    static func run(_ bench: Bench) throws {
        if bench.options.includes(contestant: Report.swift) { try measureMoonpool(bench) }
        if bench.options.includes(contestant: Report.sqlite), access(tool, X_OK) == 0 {
            try measureSQLite(bench)
        }
    }

    private static let formats: [(title: String, format: TransferFormat)] = [
        ("JSON Lines", .jsonLines), ("CSV", .csv),
    ]

    private static func repeatEach(
        _ bench: Bench, _ row: Row, of name: String, _ step: () throws -> Int
    ) throws {
        guard bench.options.includes(row) else { return }
        printError("\(row.title) ...")
        for _ in 0..<min(3, bench.options.repetitions) {
            let (seconds, count) = try timed(step)
            bench.report.add(
                row.unit.value(seconds, count: count), answer: [Double(count)], to: row, of: name)
        }
    }

    // MARK: Moonpool

    private static func measureMoonpool(_ bench: Bench) throws {
        let folder = "\(bench.folder)/transfer"
        try Files.makeEmpty(folder)
        defer { Files.remove(folder) }
        let full = try Store(
            StoreConfiguration(
                .file("\(folder)/full.moonpool"), schema: SwiftContestant.schema,
                durability: .memory), scheduler: BenchmarkScheduler())
        try fill(full, bench.people)
        for (title, format) in formats {
            let file = "\(folder)/people.\(format.rawValue)"
            let people = try full.objects("Person")
            let exporting = perSecond("export \(title)", 300_000)
            // Once in any case: the import needs the file.
            _ = try Exporter(.results(people), as: format).write(to: file)
            try repeatEach(bench, exporting, of: Report.swift) {
                try Exporter(.results(people), as: format).write(to: file)
            }
            var number = 0
            try repeatEach(bench, perSecond("import \(title)", 300_000), of: Report.swift) {
                number += 1
                let path = "\(folder)/\(format.rawValue)-\(number).moonpool"
                let store = try Store(
                    StoreConfiguration(
                        .file(path), schema: SwiftContestant.schema, durability: .full),
                    scheduler: BenchmarkScheduler())
                var options = ImportOptions()
                options.className = "Person"
                let report = try Importer(into: store, options).read(file, as: format)
                store.close()
                return report.created
            }
        }
        full.close()
    }

    private static func fill(_ store: Store, _ people: People) throws {
        try store.write {
            guard let person = store.schema.find("Person") else { return }
            let inserter = try store.inserter(of: person)
            for index in people.indices {
                let one = people.person(index)
                inserter.set(0, int: one.id)
                inserter.set(1, string: one.name.string)
                inserter.set(2, int: one.age)
                inserter.set(3, double: one.score)
                inserter.set(4, bool: one.active)
                try inserter.insert()
            }
        }
    }

    // MARK: SQLite

    private static let tool = "/usr/bin/sqlite3"

    private static func measureSQLite(_ bench: Bench) throws {
        let folder = "\(bench.folder)/transfer-sqlite"
        try Files.makeEmpty(folder)
        defer { Files.remove(folder) }
        let contestant = SQLiteContestant()
        try contestant.open(folder: folder, .never)
        _ = try contestant.insert(bench.people)
        contestant.close()
        let database = SQLiteContestant.path(folder)
        let count = bench.people.count
        for (title, mode) in [("JSON Lines", "json"), ("CSV", "csv")] {
            try repeatEach(bench, perSecond("export \(title)", 300_000), of: Report.sqlite) {
                try command(
                    database, ".mode \(mode)", ".headers on", ".once \(folder)/people.\(mode)",
                    "SELECT * FROM person")
                return count
            }
        }
        try command(
            database, ".mode csv", ".headers off", ".once \(folder)/rows.csv",
            "SELECT * FROM person")
        var number = 0
        try repeatEach(bench, perSecond("import CSV", 300_000), of: Report.sqlite) {
            number += 1
            try command(
                "\(folder)/copy-\(number).sqlite",
                "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT "
                    + "NULL, score REAL NOT NULL, active INTEGER NOT NULL)",
                ".import --csv \(folder)/rows.csv person")
            return count
        }
    }

    private static func command(_ database: String, _ lines: String...) throws {
        let words = ([tool, database] + lines).map { "'\($0)'" }.joined(separator: " ")
        guard system(words) == 0 else { throw BenchmarkError("failed: \(words)") }
    }
}
