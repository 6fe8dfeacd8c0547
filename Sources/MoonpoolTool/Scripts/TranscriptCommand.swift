import ArgumentParser
import EventLoops
import REPL

/// `moonpool transcript FILE …`.
struct TranscriptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcript",
        abstract: "Run recorded sessions again and compare what they show.",
        discussion: """
            A session is recorded by .transcript FILE at the prompt. Each one runs on a new store in memory. In the \
            recorded output, … stands for any text in a line and a line ... for any lines. The exit code is 1 if \
            anything is shown differently.
            """)

    @Argument(help: "The recorded sessions.", completion: .file())
    var files: [String]

    @Option(help: "How many seconds to wait for what observers and timers have shown.")
    var patience: Double = 10

    func validate() throws {
        guard patience >= 0, patience <= 1e6 else {
            throw ValidationError("--patience is a number of seconds from 0 to 1,000,000")
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
                ? "no entries found" : "\(outcome.steps) entries, \(different) shown differently"
            ProcessServices.writeOutput("\(file): \(result)\n")
        }
        if hasFailed { throw ExitCode(1) }
    }
}
