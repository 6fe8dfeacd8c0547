/// W10: the time from the start to the first object read, which should not depend on the size of the file.
///
/// The file is in the system's cache. From Lua the time includes the start of a script.
enum OpenWorkload {
    private static let row = Row(
        title: "W10 open and read one object", unit: .milliseconds, swift: .atMost(10),
        lua: .atMost(10))

    static func run(_ bench: Bench) throws {
        let keys = bench.people.randomKeys(1, seed: 10)
        try bench.repeatEach(row) { contestant in
            let (seconds, sum) = try timed {
                try contestant.open(folder: bench.mainFolder(contestant), .full)
                return try contestant.sumOfAges(of: keys)
            }
            try contestant.close()
            return (row.unit.value(seconds), [Double(sum)])
        }
    }
}
