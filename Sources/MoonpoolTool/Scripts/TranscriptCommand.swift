import ArgumentParser
import EventLoops
import REPL
import SystemCalls

/// The command `moonpool transcript FILE …`.
struct TranscriptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcript",
        abstract: "Replay recorded sessions and compare their output.",
        discussion: """
            Record a session with .transcript FILE at the prompt. Each file runs on a new in-memory store. In the recorded \
            output, … matches any text within a line, and a line ... matches any lines. The exit code is 1 if the output \
            differs.
            """)

    @Argument(help: "The recorded sessions.", completion: .file())
    var files: [String]

    @Option(help: "Seconds to wait for the output of observers and timers.")
    var patience: Double = 10

    func validate() throws {
        guard patience >= 0, patience <= 1e6 else {
            throw ValidationError(
                "expected --patience from 0 to 1,000,000 seconds, got \(patience)")
        }
    }

    func run() throws {
        guard let player = TranscriptPlayer(patience: .seconds(patience)) else {
            ProcessServices.writeError("moonpool: too many open files\n")
            throw ExitCode(1)
        }
        var hasFailed = false
        for file in files {
            let bytes: [UInt8]
            do {
                bytes = try ProcessServices.readWhole(file)
            } catch {
                ProcessServices.writeError("moonpool: cannot read \(file): \(error.reason)\n")
                throw ExitCode(1)
            }
            let outcome = try player.play(String(decoding: bytes, as: UTF8.self))
            for difference in outcome.differences {
                ProcessServices.writeOutput("\(file):\(difference.line):\n\(difference.text)")
            }
            let different = outcome.differences.count
            hasFailed = hasFailed || different > 0 || outcome.steps == 0
            let result =
                outcome.steps == 0
                ? "no entries found" : "\(outcome.steps) entries, \(different) different"
            ProcessServices.writeOutput("\(file): \(result)\n")
        }
        if hasFailed { throw ExitCode(1) }
    }
}
