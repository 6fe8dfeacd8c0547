import Foundation
import TestSupport
import TestThreads
import Testing

private typealias Key = PseudoTerminal.Key

/// A session at the prompt, with a store of three dogs, and commands on terminals beside it.
final class FeatureTrial {
    let kind: FeatureTerminal
    let session: TerminalSession
    var folder: String { session.folder.path }

    init(_ kind: FeatureTerminal, _ arguments: [String] = [], in folder: TemporaryFolder? = nil)
        throws
    {
        self.kind = kind
        session = try TerminalSession(
            arguments, columns: kind.columns, rows: 24, folder: folder,
            environment: kind.environment)
    }

    func type(_ keys: String) { session.terminal.type(keys) }

    func wait(_ text: String) throws { try session.terminal.wait(forText: text) }

    /// Runs an entry and waits until all texts are shown below it.
    func run(_ entry: String, shows texts: String...) throws {
        try session.prompt()
        let first = session.terminal.screen.scrolledLines + session.terminal.screen.lines.count
        if entry.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) {
            try session.run(entry)
        } else {
            type(entry + Key.enter)
        }
        for text in texts {
            try session.terminal.wait(for: "'\(text)' after \(entry)") { screen in
                let start = max(0, first - screen.scrolledLines)
                return screen.unwrapped(from: start).contains { $0.contains(text) }
            }
        }
        try session.prompt()
    }

    /// Types keys and waits until the line ends in a text; then clears it.
    ///
    /// Presses Tab again if nothing was completed, because completion does not wait for a script's thread that is slow.
    func types(_ keys: String, shows text: String) throws {
        try session.prompt()
        type(keys)
        let what = "'\(text)' after \(keys.debugDescription)"
        func wait(_ seconds: Double) throws {
            try session.terminal.wait(for: what, seconds: seconds) { screen in
                screen.unwrapped().last?.contains(text) == true
            }
        }
        for _ in 0..<10 where keys.hasSuffix(Key.tab) {
            if (try? wait(5)) != nil { break }
            type(Key.tab)
        }
        try wait(60)
        type(Key.interrupt)
        try session.prompt()
    }

    func write(_ text: String, to name: String) throws {
        try session.folder.write(text, to: name)
    }

    func contents(of name: String) -> String {
        (try? session.folder.read(name)) ?? ""
    }

    func end() throws { #expect(try session.end() == 0) }

    /// Runs a command on another terminal.
    ///
    /// Returns its exit code and its screen.
    func command(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> (code: Int32, text: String) {
        let terminal = try PseudoTerminal(columns: kind.columns, rows: 40)
        var variables = kind.environment.merging(environment) { $1 }
        variables["HOME"] = folder
        variables["PATH"] = "/usr/bin:/bin"
        try terminal.start(TerminalSession.program, arguments, environment: variables)
        let code = try terminal.exitCode()
        return (code, terminal.screen.text)
    }

    func expect(
        _ arguments: [String], _ environment: [String: String] = [:],
        exitCode: Int32? = nil, shows text: String = "", hides: String? = nil
    ) throws {
        let outcome = try command(arguments, environment)
        if let exitCode { #expect(outcome.code == exitCode, "\(arguments): \(outcome.text)") }
        #expect(outcome.text.contains(text) || text.isEmpty, "\(arguments): \(outcome.text)")
        if let hides { #expect(!outcome.text.contains(hides), "\(arguments): \(outcome.text)") }
    }

    /// Ends a session after some entries, and starts another in its folder.
    func restarted(after entries: [String] = [], _ body: (FeatureTrial) throws -> Void) throws {
        let first = try FeatureTrial(kind)
        for entry in entries { try first.run(entry) }
        try first.end()
        let second = try FeatureTrial(kind, in: first.session.folder)
        try body(second)
        try second.end()
    }
}
