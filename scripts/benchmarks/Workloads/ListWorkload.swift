import ObjectStore

/// W13: appending one element to a list, one per commit.
///
/// The cost should not depend on the length of the list.
///
/// Moonpool only: tables have no lists, and a join table with an index column solves a different problem.
enum ListWorkload {
    private static let lengths = [10, 1_000_000]
    private static let commits = 2_000

    static func run(_ bench: Bench) throws {
        let rows = lengths.map { length in
            Row(
                title: "W13 append to a list of \(Report.number(Double(length))), no flush",
                unit: .perSecond)
        }
        guard rows.contains(where: bench.options.includes),
            bench.options.includes(contestant: Report.swift)
        else { return }
        let folder = "\(bench.folder)/Swift-lists"
        try Files.makeEmpty(folder)
        let holder = ClassSchema("Holder", [Property("numbers", .int, collection: .list)])
        let store = try Store(
            StoreConfiguration(
                .file("\(folder)/lists.moonpool"), schema: [holder], durability: .memory),
            scheduler: BenchmarkScheduler())
        defer { store.close() }
        let lists = try store.write {
            try lengths.map { length in
                try store.create(
                    "Holder", .dictionary(["numbers": .list((0..<length).map { .int(Int64($0)) })])
                ).list("numbers")
            }
        }
        printError("W13 append to a list ...")
        for _ in 0..<bench.options.repetitions {
            for (row, list) in zip(rows, lists) {
                let (seconds, _) = try timed {
                    for number in 0..<commits {
                        try store.write { try list.append([.int(Int64(number))]) }
                    }
                }
                // The list has grown in the meantime, but not enough to matter here.
                bench.report.add(
                    row.unit.value(seconds, count: commits), answer: [], to: row, of: Report.swift)
            }
        }
    }
}
