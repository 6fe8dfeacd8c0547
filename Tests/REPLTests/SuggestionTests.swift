import Foundation
import TestSupport
import Testing

private typealias Key = PseudoTerminal.Key

/// The rest of an earlier entry, in gray after the cursor.
@Suite(.serialized) struct SuggestionTests {
    private func start() throws -> TerminalSession {
        let session = try TerminalSession(columns: 60, environment: ["NO_COLOR": ""])
        try session.run("print('one' .. 1)")
        return session
    }

    @Test func `A suggestion that is not accepted disappears`() throws {
        let session = try start()
        session.terminal.type("print")
        try session.terminal.wait(for: "the suggestion") {
            $0.lines.last?.hasSuffix("print('one' .. 1)") == true
        }
        session.terminal.type("(7)")
        try session.terminal.wait(for: "the typed text") {
            $0.lines.last?.hasSuffix("> print(7)") == true
        }
        session.terminal.type(Key.enter)
        try session.terminal.wait(for: "the output") { $0.lines.contains("7") }
        #expect(session.terminal.screen.lines.contains { $0.hasSuffix("> print(7)") })
        // Keys that arrive before the prompt go to the running entry.
        try session.prompt()
        session.terminal.type("pr" + Key.interrupt)
        try session.terminal.wait(for: "the cleared line") {
            $0.lines.contains { $0.hasSuffix("> pr^C") }
        }
    }
}
