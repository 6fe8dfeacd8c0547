/// W8: the cost of a commit and its delivery if one of many observers is affected.
///
/// The cost should not depend on the number of the other observers.
enum CrowdWorkload {
    private static let commits = 2_000

    static func run(_ bench: Bench) throws {
        let people = People(indices: 0..<10_000)
        for count in [100, 10_000] {
            let row = Row(
                title: "W8 commit and delivery, 1 of \(Report.number(Double(count))) concerned",
                unit: .microseconds)
            try bench.repeatEach(row) { contestant in
                let folder = bench.folder(contestant, "crowd")
                try Files.makeEmpty(folder)
                defer { Files.remove(folder) }
                try contestant.open(folder: folder, .never)
                defer { try? contestant.close() }
                _ = try contestant.insert(people)
                let keys = (0..<count).map(people.key)
                guard let seconds = try contestant.updateObserved(keys, commits: commits) else {
                    return nil
                }
                return (row.unit.value(seconds, count: commits), [])
            }
        }
    }
}
