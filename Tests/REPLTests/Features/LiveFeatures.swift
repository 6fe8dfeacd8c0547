import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

extension Feature {
    /// Live tables, attached prompts and the state that the prompt shows.
    static let live: [Feature] = [
        Feature("a query that is watched", needsCursor: true) { trial in
            trial.type(".watch Dog where age > 1" + Key.enter)
            try trial.wait("q leaves")
            trial.type("q")
            try trial.run("7 * 7", shows: "49")
        },
        Feature("attaching to a running process", needsCursor: true) { trial in
            let socket = trial.folder + "/s"
            let running = try PseudoTerminal()
            try running.start(
                TerminalSession.program,
                [
                    "--attachable=\(socket)", "-e",
                    "inside = 'the process' moonpool.every(60, function() end) print 'ready'",
                ], environment: ["HOME": trial.folder])
            try running.wait(forText: "ready")
            let other = try FeatureTrial(trial.kind, ["attach", socket])
            try other.run("inside", shows: "\"the process\"")
            try other.end()
            running.send(SIGTERM)
            _ = try running.exitCode()
        },
        Feature("the prompt shows a transaction and observers") { trial in
            try trial.run(".begin")
            #expect(trial.session.terminal.screen.lines.last?.contains(" write") == true)
            try trial.run(".rollback", shows: "rolled back")
            try trial.run("watching = dogs:observe(function() end)")
            try trial.wait("1 observer>")
            try trial.run("watching:invalidate()")
        },
        Feature("a progress bar for long work") { trial in
            let rows = (1...20_000).map { "\($0),row \($0)" }.joined(separator: "\n")
            try trial.write("id,name\n" + rows, to: "rows.csv")
            let outcome = try trial.command(
                [
                    "import", trial.folder + "/rows.moonpool", trial.folder + "/rows.csv",
                    "--class", "Row",
                ])
            #expect(outcome.code == 0 && outcome.text.contains("20000 created"), "\(outcome.text)")
        },
        Feature("the observers with their cost") { trial in
            try trial.run("watching = dogs:observe(function() end, { name = 'kennel' })")
            try trial.run(".observers", shows: "kennel", "calls")
            try trial.run("watching:invalidate()")
        },
    ]
}
