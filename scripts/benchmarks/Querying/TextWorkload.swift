/// W12: full-text searches among short texts.
enum TextWorkload {
    private static let word = Row(
        title: "W12 full-text search for a word", unit: .milliseconds, swift: .atMost(5))
    private static let pair = Row(
        title: "W12 full-text search for two words", unit: .milliseconds, swift: .atMost(5))

    static func run(_ bench: Bench) throws {
        guard [word, pair].contains(where: bench.options.includes) else { return }
        let notes = Notes(count: bench.options.size)
        let names = [Report.swift, Report.sqlite].filter { bench.options.includes(contestant: $0) }
        let stores: [(name: String, store: any NoteStore)] = try names.map { name in
            let folder = "\(bench.folder)/\(name)-notes"
            try Files.makeEmpty(folder)
            let store: any NoteStore =
                name == Report.swift ? try MoonpoolNotes(folder) : try SQLiteNotes(folder)
            try store.fill(notes)
            return (name, store)
        }
        for (row, sought) in [(word, notes.soughtWords(200)), (pair, notes.soughtPairs(200))] {
            guard bench.options.includes(row) else { continue }
            printError("\(row.title) ...")
            for _ in 0..<bench.options.repetitions {
                for (name, store) in stores {
                    let (seconds, found) = try timed {
                        try sought.reduce(0) { try $0 + store.count(containing: $1) }
                    }
                    bench.report.add(
                        row.unit.value(seconds, count: sought.count), answer: [Double(found)],
                        to: row, of: name)
                }
            }
        }
    }
}

/// The operations of a store with notes.
protocol NoteStore {
    /// Stores the notes and indexes their words.
    func fill(_ notes: Notes) throws
    /// Counts the notes that contain all of some words.
    func count(containing words: String) throws -> Int
}
