/// The options of the command line.
struct Options {
    var size = 1_000_000
    var repetitions = 5
    var isQuick = false
    var countsProcessorTime = false
    var only: Set<String> = []
    var among: Set<String> = []
    /// A part of the titles of the rows to measure; empty for all rows.
    var row = ""
    var folder = "/var/tmp"
    /// The duration of the long run; nil for the table.
    var soakSeconds: Int?
    /// Set in the child process whose peak memory is measured.
    var insertsAs: String?
    /// The file that the child process imports whose peak memory is measured.
    var importsFile: String?
    /// Set in the child process that makes the commits that another process observes.
    var commitsAs: String?

    static let help = """
        Measures Moonpool beside SQLite and plain LMDB, in one run and one table.

            scripts/bench [--quick] [--size N] [--repeat N] [--only W1,W4] [--folder PATH]

        --size N        objects, 1,000,000 by default
        --repeat N      repetitions of each step, 5 by default; medians are shown
        --quick         100,000 objects and 3 repetitions: a minute or two
        --only W1,W4    only these workloads
        --row TEXT      only rows whose title contains TEXT, such as "no flush"
        --among A,B     only these contestants: Swift, Lua, SQLite, LMDB
        --cpu           processor time instead of the clock's, on a busy machine; says nothing
                        about durable commits, and W8 still uses the clock
        --soak SECONDS  no table: 1,000 commits a second with 100 observers; prints memory, file and
                        deliveries each minute; fails if something grows or is missed
        --folder PATH   where the files go, /var/tmp by default; must be on a real disk for W2

        "Swift ×" and "Lua ×" after a peer: how many times better Moonpool is than that peer.
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(_ option: String) throws -> String {
            guard let value = rest.popFirst() else {
                throw BenchmarkError("\(option) needs a value")
            }
            return value
        }
        func number(_ option: String) throws -> Int {
            guard let number = Int(try value(option)), number > 0 else {
                throw BenchmarkError("\(option) needs a number above 0")
            }
            return number
        }
        while let option = rest.popFirst() {
            switch option {
            case "--size": size = try number(option)
            case "--repeat": repetitions = try number(option)
            case "--quick":
                isQuick = true
                size = 100_000
                repetitions = 3
            case "--cpu": countsProcessorTime = true
            case "--only":
                only = Set(try value(option).split(separator: ",").map { $0.uppercased() })
            case "--among":
                among = Set(try value(option).split(separator: ",").map { $0.lowercased() })
            case "--row": row = try value(option)
            case "--folder": folder = try value(option)
            case "--soak": soakSeconds = try number(option)
            case "--insert-as": insertsAs = try value(option)
            case "--import": importsFile = try value(option)
            case "--commit-as": commitsAs = try value(option)
            default: throw BenchmarkError("unknown option \(option)\n\n\(Self.help)")
            }
        }
    }

    func includes(contestant name: String) -> Bool {
        // "LMDB rows" is selected by its first word.
        among.isEmpty || among.contains(name.lowercased().split(separator: " ")[0].description)
    }

    func includes(_ row: Row) -> Bool { row.title.contains(self.row) }

    func includes(_ workload: String) -> Bool { only.isEmpty || only.contains(workload) }
}
