import Glibc
import ObjectStore
import Transfer

/// W14: exports all people to a text file and imports them, compared with the command line of SQLite.
///
/// Without `sqlite3` its column stays empty.
enum TransferWorkload {
    private static let formats: [(title: String, format: TransferFormat)] = [
        ("JSON Lines", .jsonLines), ("CSV", .csv),
    ]

    static func exporting(_ title: String) -> Row { perSecond("export \(title)") }

    static func importing(_ title: String) -> Row { perSecond("import \(title)") }

    static func memory(_ title: String) -> Row {
        Row(
            title: "W14 peak memory of import \(title)", unit: .mebibytes,
            swift: .atMost(200))
    }

    private static func perSecond(_ title: String) -> Row {
        Row(title: "W14 \(title), rows", unit: .perSecond, swift: .atLeast(300_000))
    }

    static func run(_ bench: Bench) throws {
        let folder = "\(bench.folder)/transfer"
        try Files.makeEmpty(folder)
        defer { Files.remove(folder) }
        let full = try Store(
            StoreConfiguration(
                .file("\(folder)/full.moonpool"), schema: SwiftContestant.schema,
                durability: .memory), scheduler: BenchmarkScheduler())
        try fill(full, bench.people)
        let tool = SQLiteTool(bench, folder)
        for (title, format) in formats {
            let file = "\(folder)/people.\(format.rawValue)"
            let people = try full.objects("Person")
            // Runs once in any case, because both imports need the file.
            _ = try Exporter(.results(people), as: format).write(to: file)
            if bench.options.includes(contestant: Report.swift) {
                try measure(bench, title, format, people, file)
            }
            try tool?.measure(title, format, file)
        }
        full.close()
    }

    /// Adds repetitions of a step, which returns its duration in seconds and the number of rows.
    static func repeatEach(
        _ bench: Bench, _ row: Row, of name: String,
        _ step: (_ number: Int) throws -> (seconds: Double, result: Int)
    ) throws {
        guard bench.options.includes(row) else { return }
        printError("\(row.title), \(name) ...")
        for number in 0..<min(3, bench.options.repetitions) {
            let (seconds, count) = try step(number)
            bench.report.add(
                row.unit.value(seconds, count: count), answer: [Double(count)], to: row, of: name)
        }
    }

    /// Adds the memory that a child process reports.
    static func addMemory(
        _ bench: Bench, _ title: String, of name: String, _ measure: () throws -> Double
    ) throws {
        let row = memory(title)
        guard bench.options.includes(row) else { return }
        bench.report.add(try measure(), to: row, of: name)
    }

    private static func measure(
        _ bench: Bench, _ title: String, _ format: TransferFormat, _ people: Results,
        _ file: String
    ) throws {
        try repeatEach(bench, exporting(title), of: Report.swift) { _ in
            try timed { try Exporter(.results(people), as: format).write(to: file) }
        }
        try repeatEach(bench, importing(title), of: Report.swift) { number in
            try timed { try take(file, into: "\(file)-\(number).moonpool") }
        }
        try addMemory(bench, title, of: Report.swift) {
            let folder = "\(bench.folder)/transfer-alone"
            try Files.makeEmpty(folder)
            defer { Files.remove(folder) }
            return try PeakMemory.ofThisProgram("--import '\(file)' --folder '\(folder)'")
        }
    }

    private static func take(_ file: String, into path: String) throws -> Int {
        let store = try Store(
            StoreConfiguration(.file(path), schema: SwiftContestant.schema, durability: .full),
            scheduler: BenchmarkScheduler())
        var options = ImportOptions()
        options.className = "Person"
        let report = try Importer(into: store, options).read(
            file, as: try TransferFormat(path: file))
        store.close()
        return report.created
    }

    /// Runs the child process whose memory is measured.
    static func importAlone(_ file: String, folder: String) throws {
        _ = try take(file, into: "\(folder)/alone.moonpool")
        print(try PeakMemory.ofThisProcess())
    }

    static func fill(_ store: Store, _ people: People) throws {
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
}
