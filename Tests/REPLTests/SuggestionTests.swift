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

    @Test func `The newest entry that begins with the typed text is suggested and accepted`() throws
    {
        let session = try start()
        defer { session.remove() }
        session.terminal.type("pri")
        try session.terminal.wait(for: "the suggestion") {
            $0.lines.last?.hasSuffix("> print('one' .. 1)") == true
        }
        #expect(
            String(decoding: session.terminal.transcript, as: UTF8.self).contains(
                "\u{1B}[90mnt('one' .. 1)"))
        session.terminal.type(Key.right + Key.enter)
        try session.terminal.wait(for: "the second output") {
            $0.lines.filter { $0 == "one1" }.count == 2
        }
    }

    @Test func `A suggestion that is not accepted disappears`() throws {
        let session = try start()
        defer { session.remove() }
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
