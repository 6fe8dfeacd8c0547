import Glibc
import Transfer

/// The command line of SQLite, for the tasks of W14.
///
/// It writes JSON as one list. It imports JSON Lines as its users do: each line as text with `.import`, whose members
/// `->>` then extracts into columns.
struct SQLiteTool {
    private static let tool = "/usr/bin/sqlite3"
    private static let columns =
        "id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL, score REAL NOT NULL, "
        + "active INTEGER NOT NULL"

    private let bench: Bench
    private let folder: String

    /// Returns nil if the tool is not installed or not wanted.
    init?(_ bench: Bench, _ folder: String) {
        guard bench.options.includes(contestant: Report.sqlite), access(Self.tool, X_OK) == 0
        else { return nil }
        self.bench = bench
        self.folder = folder
    }

    /// Imports the file that Moonpool has written, and exports one itself.
    func measure(_ title: String, _ format: TransferFormat, _ file: String) throws {
        let count = bench.people.count
        let full = "\(folder)/full-\(format.rawValue).sqlite"
        try run([full] + importing(format, file))
        try TransferWorkload.repeatEach(
            bench, TransferWorkload.exporting(title), of: Report.sqlite
        ) { _ in
            let mode = format == .csv ? "csv" : "json"
            return (
                try seconds([
                    full, ".mode \(mode)", ".headers on", ".once '\(folder)/sqlite.\(mode)'",
                    "SELECT * FROM person",
                ]), count
            )
        }
        try TransferWorkload.repeatEach(
            bench, TransferWorkload.importing(title), of: Report.sqlite
        ) { number in
            let copy = "\(folder)/\(format.rawValue)-\(number).sqlite"
            return (try seconds([copy] + importing(format, file)), count)
        }
        try TransferWorkload.addMemory(bench, title, of: Report.sqlite) {
            try PeakMemory.told(
                by: Self.command(
                    ["\(folder)/\(format.rawValue)-alone.sqlite"] + importing(format, file)
                        + [".shell grep VmHWM /proc/$PPID/status"]))
        }
    }

    private func importing(_ format: TransferFormat, _ file: String) -> [String] {
        let table = "CREATE TABLE person (\(Self.columns))"
        if format == .csv { return [table, ".import --csv --skip 1 '\(file)' person"] }
        let members = ["id", "name", "age", "score", "active"].map { "line->>\"$.\($0)\"" }
        return [
            "BEGIN", table, "CREATE TEMP TABLE lines (line TEXT)", ".mode ascii",
            ".separator \"\\001\" \"\\n\"", ".import '\(file)' lines",
            "INSERT INTO person SELECT \(members.joined(separator: ", ")) FROM lines", "COMMIT",
        ]
    }

    /// Returns the duration of the tool in seconds, or its processor time if that is measured.
    private func seconds(_ arguments: [String]) throws -> Double {
        let before = Self.childTime()
        let (elapsed, _) = try timed { try run(arguments) }
        let counted = countsProcessorTime.load(ordering: .relaxed)
        return counted ? Self.childTime() - before : elapsed
    }

    private func run(_ arguments: [String]) throws {
        let command = Self.command(arguments)
        guard system(command) == 0 else { throw BenchmarkError("failed: \(command)") }
    }

    private static func command(_ arguments: [String]) -> String {
        ([tool] + arguments).map { word in
            "'"
                + word.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "'\\''") + "'"
        }.joined(separator: " ")
    }

    /// Returns the processor time of child processes that have ended.
    private static func childTime() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
