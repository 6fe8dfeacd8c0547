import Glibc

/// W1: all people in one transaction.
///
/// W9: the resulting file, and the peak memory of a process that only inserts. Leaves the main data set for the other
/// workloads.
enum InsertWorkload {
    private static let ascending = Row(
        title: "W1 insert, one transaction", unit: .perSecond, swift: .atLeast(3e6),
        lua: .atLeast(0.6e6))
    private static let random = Row(
        title: "W1 insert, random 63-bit keys", unit: .perSecond, swift: .atLeast(1e6))
    private static let fileSize = Row(title: "W9 file", unit: .mebibytes, swift: .atMost(36))
    private static let memory = Row(
        title: "W9 peak memory of W1", unit: .mebibytes, swift: .atMost(90))

    static func run(_ bench: Bench) throws {
        try insert(bench, ascending, bench.people, data: "main")
        guard bench.options.includes("W1"), bench.options.includes(random) else { return }
        let unordered = People(indices: bench.people.indices, keys: .random)
        try insert(bench, random, unordered, data: "random")
        for contestant in bench.contestants { Files.remove(bench.folder(contestant, "random")) }
    }

    private static func insert(_ bench: Bench, _ row: Row, _ people: People, data: String) throws {
        // Independent of the selected rows, because the other workloads need the data.
        let isWanted = bench.options.includes("W1") && bench.options.includes(row)
        let repetitions = isWanted ? min(3, bench.options.repetitions) : 1
        try bench.repeatEach(row, repetitions: repetitions, isNeeded: true) { contestant in
            let folder = bench.folder(contestant, data)
            try Files.makeEmpty(folder)
            try contestant.open(folder: folder, .full)
            let seconds = try contestant.insert(people)
            let sum = try contestant.sumOfAges()
            try contestant.close()
            return (row.unit.value(seconds, count: people.count), [Double(sum)])
        }
    }

    static func measureSize(_ bench: Bench) throws {
        try bench.repeatEach(fileSize, repetitions: 1) { contestant in
            (Double(try Files.dataSize(bench.mainFolder(contestant))) / 1_048_576, [])
        }
        try bench.repeatEach(memory, repetitions: min(3, bench.options.repetitions)) { contestant in
            let folder = bench.folder(contestant, "memory")
            try Files.makeEmpty(folder)
            defer { Files.remove(folder) }
            let peak = try PeakMemory.ofThisProgram(
                "--insert-as '\(contestant.name)' --size \(bench.options.size) --folder '\(folder)'"
            )
            return (peak, [])
        }
    }

    /// Runs the child process.
    static func insertAlone(_ contestant: any Contestant, _ options: Options) throws {
        try contestant.open(folder: options.folder, .full)
        _ = try contestant.insert(People(indices: 0..<options.size))
        print(try PeakMemory.ofThisProcess())
        try contestant.close()
    }
}
