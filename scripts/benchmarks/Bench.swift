import Glibc

/// One run: the contestants, the paths of their files, and the measurements.
final class Bench {
    let options: Options
    let contestants: [any Contestant]
    let report = Report()
    let folder: String

    init(_ options: Options, _ contestants: [any Contestant]) throws {
        self.options = options
        self.contestants = contestants
        folder = "\(options.folder)/moonpool-bench-\(getpid())"
        try Files.makeEmpty(folder)
    }

    deinit { Files.remove(folder) }

    var people: People { People(indices: 0..<options.size) }

    /// Returns a contestant's folder for one data set.
    func folder(_ contestant: any Contestant, _ data: String) -> String {
        "\(folder)/\(contestant.name)-\(data)"
    }

    /// Returns the folder of a contestant's main data set: all people under ascending keys.
    func mainFolder(_ contestant: any Contestant) -> String { folder(contestant, "main") }

    /// Repeats a step for all contestants in turn, so that a slow moment of the machine does not affect only one of
    /// them.
    ///
    /// `step` returns the value in the row's unit and its result, or nil if a contestant has no equivalent.
    func repeatEach(
        _ row: Row, repetitions: Int? = nil, isNeeded: Bool = false,
        among chosen: [any Contestant]? = nil,
        _ step: (any Contestant) throws -> (value: Double, answer: [Double])?
    ) throws {
        guard isNeeded || options.includes(row) else { return }
        progress(row.title)
        for _ in 0..<(repetitions ?? options.repetitions) {
            for contestant in chosen ?? contestants {
                guard let (value, answer) = try step(contestant) else { continue }
                report.add(value, answer: answer, to: row, of: contestant.name)
            }
        }
    }

    /// Repeats a step that is one timed call.
    func repeatEach(
        _ row: Row, count: Int = 1, _ step: (any Contestant) throws -> [Double]
    ) throws {
        try repeatEach(row) { contestant in
            let (seconds, answer) = try timed { try step(contestant) }
            return (row.unit.value(seconds, count: count), answer)
        }
    }

    /// Opens the main data set of every contestant around `body`.
    func withMainData(_ body: () throws -> Void) throws {
        for contestant in contestants {
            try contestant.open(folder: mainFolder(contestant), .never)
        }
        try body()
        for contestant in contestants { try contestant.close() }
    }

    private func progress(_ title: String) { printError("\(title) ...") }
}

/// Writes a line to standard error.
///
/// C's `stderr` is a global variable, which Swift 6 does not allow to share.
func printError(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}
