import Glibc

/// W1: all people in one transaction.
///
/// W9: the file afterwards, and the peak memory of a process that does nothing else. Leaves the
/// main data set behind for the other workloads.
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
        // The other workloads need the data, whatever is measured.
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
            return (try peakMemory(of: contestant, size: bench.options.size, folder: folder), [])
        }
    }

    /// Runs this program again to insert as the given contestant; it prints its own peak.
    private static func peakMemory(
        of contestant: any Contestant, size: Int, folder: String
    ) throws -> Double {
        var path = [CChar](repeating: 0, count: 4096)
        guard readlink("/proc/self/exe", &path, path.count - 1) > 0 else {
            throw BenchmarkError("cannot find this program")
        }
        let program = path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        let command =
            "'\(program)' --insert-as '\(contestant.name)' --size \(size) --folder '\(folder)'"
        guard let output = popen(command, "r") else {
            throw BenchmarkError("cannot run \(command)")
        }
        var line = [CChar](repeating: 0, count: 64)
        let answer = fgets(&line, 64, output)
        guard pclose(output) == 0, let answer,
            let kilobytes = Int(trimming: String(cString: answer))
        else { throw BenchmarkError("failed: \(command)") }
        return Double(kilobytes) / 1024
    }

    /// What the child process does.
    static func insertAlone(_ contestant: any Contestant, _ options: Options) throws {
        try contestant.open(folder: options.folder, .full)
        _ = try contestant.insert(People(indices: 0..<options.size))
        print(try ownPeakKilobytes())
        try contestant.close()
    }

    /// `VmHWM` begins anew with each program, while `ru_maxrss` remembers the one before `exec`.
    private static func ownPeakKilobytes() throws -> Int {
        guard let status = fopen("/proc/self/status", "r") else { throw BenchmarkError("no /proc") }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while let text = fgets(&line, 256, status) {
            let words = String(cString: text).split { $0 == " " || $0 == "\t" || $0 == "\n" }
            if words.first == "VmHWM:", words.count > 1, let value = Int(words[1]) { return value }
        }
        throw BenchmarkError("no VmHWM in /proc/self/status")
    }
}

extension Int {
    /// The number that a line of text holds.
    init?(trimming text: String) {
        self.init(text.filter { $0.isNumber })
    }
}
