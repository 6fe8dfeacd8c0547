import Glibc
import TestThreads
import Testing

/// Runs a body on the inputs of a folder and on random mutations of them.
///
/// An input with a new outcome becomes a base of further mutations. `MOONPOOL_FUZZ=100000` runs each loop this many
/// times, each time with another seed. It writes the input of each run to `/tmp/moonpool-fuzz`, where the input remains
/// after a crash. Add an input that has found a fault to the corpus.
struct FuzzLoop {
    /// The folder of the inputs in `Corpus`, if it exists.
    let name: String
    private var inputs: [[UInt8]]
    private var outcomes: Set<String> = []
    private var random: SeededGenerator
    private let mutator: InputMutator
    private let latest: Int32

    private static let chosenCount = getenv("MOONPOOL_FUZZ").flatMap { Int(String(cString: $0)) }
    private static let maxInputs = 2000

    init(_ name: String, words: [String] = []) throws {
        self.name = name
        inputs = try Self.corpus(name)
        mutator = InputMutator(words: words.map { Array($0.utf8) })
        random = SeededGenerator(seed: Self.chosenCount == nil ? 1 : UInt64.random(in: 0 ... .max))
        latest = Self.chosenCount == nil ? -1 : Self.latestFile(name)
    }

    /// Includes inputs that are not in the corpus.
    init(_ name: String, inputs: [[UInt8]]) {
        self.name = name
        self.inputs = inputs
        mutator = InputMutator(words: [])
        random = SeededGenerator(seed: Self.chosenCount == nil ? 1 : UInt64.random(in: 0 ... .max))
        latest = Self.chosenCount == nil ? -1 : Self.latestFile(name)
    }

    /// Runs `body` on each input and on mutations; `body` returns the outcome.
    ///
    /// Records an issue for a run of more than `limit` seconds.
    mutating func run(
        count usual: Int, limit: Double = 20, _ body: (_ input: [UInt8], _ round: Int) -> String
    ) {
        let count = Self.chosenCount ?? usual
        for (index, input) in inputs.enumerated() { attempt(input, index, limit, body) }
        for round in inputs.count..<inputs.count + count {
            var input = inputs.randomElement(using: &random) ?? []
            let other = inputs.randomElement(using: &random) ?? []
            mutator.change(&input, other, using: &random)
            attempt(input, round, limit, body)
        }
        if Self.chosenCount != nil {
            print("\(name): \(count) runs, \(outcomes.count) outcomes, \(inputs.count) inputs")
        }
    }

    private mutating func attempt(
        _ input: [UInt8], _ round: Int, _ limit: Double, _ body: ([UInt8], Int) -> String
    ) {
        if latest >= 0 {
            _ = pwrite(latest, input, input.count, 0)
            ftruncate(latest, off_t(input.count))
        }
        let begin = Self.now()
        let outcome = body(input, round)
        let seconds = Self.now() - begin
        if seconds > limit { Issue.record("\(name): \(seconds) s for \(Self.shown(input))") }
        if outcomes.insert(outcome).inserted, inputs.count < Self.maxInputs {
            inputs.append(input)
        }
    }

    /// An input as text for a failure message.
    static func shown(_ input: [UInt8]) -> String {
        String(String(decoding: input, as: UTF8.self).debugDescription.prefix(2000))
    }

    /// The kind of an error: its text without names, numbers and values.
    static func outcome(of error: any Error) -> String {
        var text = ""
        var isQuoted = false
        for character in "\(error)" {
            if character == "'" || character == "\"" { isQuoted.toggle() }
            if !isQuoted, !character.isNumber { text.append(character) }
            if text.utf8.count > 120 { break }
        }
        return text
    }

    // MARK: Files

    private static func corpus(_ name: String) throws -> [[UInt8]] {
        let folder =
            #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
                separator: "/") + "/Corpus/" + name
        guard let directory = opendir(folder) else { throw NoCorpus(folder: folder) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.filter { !$0.hasPrefix(".") }.sorted().map { bytes("\(folder)/\($0)") }
    }

    struct NoCorpus: Error { let folder: String }

    static func bytes(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Int(lseek(file, 0, SEEK_END)))
        let count = pread(file, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    static func write(_ bytes: [UInt8], to path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(file) }
        let count = Glibc.write(file, bytes, bytes.count)
        precondition(count == bytes.count, "no space for \(path)")
    }

    private static func latestFile(_ name: String) -> Int32 {
        mkdir("/tmp/moonpool-fuzz", 0o755)
        return open("/tmp/moonpool-fuzz/\(name)-\(getpid())", O_RDWR | O_CREAT | O_TRUNC, 0o600)
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
