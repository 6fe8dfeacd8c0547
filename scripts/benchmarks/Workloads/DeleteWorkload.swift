/// W7: delete a tenth of all objects by a query, on a copy each time.
enum DeleteWorkload {
    private static let row = Row(
        title: "W7 delete a tenth by a query", unit: .milliseconds, swift: .atMost(90),
        lua: .atMost(90))

    static func run(_ bench: Bench) throws {
        try bench.repeatEach(row, repetitions: min(3, bench.options.repetitions)) { contestant in
            let folder = bench.folder(contestant, "delete")
            try Files.copy(bench.mainFolder(contestant), to: folder)
            defer { Files.remove(folder) }
            try contestant.open(folder: folder, .full)
            let (seconds, deleted) = try timed { try contestant.deleteYounger(than: 10) }
            let left = try contestant.sumOfAges()
            try contestant.close()
            return (row.unit.value(seconds), [Double(deleted), Double(left)])
        }
    }
}
