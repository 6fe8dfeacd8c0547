import Foundation
import TestSupport
import Testing

@testable import REPL

private typealias Key = PseudoTerminal.Key

/// `define` at the prompt, for changes that lose data.
@Suite(.serialized) struct LossPreviewTests {
    private static func session() throws -> TerminalSession {
        let session = try TerminalSession(columns: 80, rows: 30)
        try session.run(
            "store:define { Dog = { id = 'int primary', name = 'string', age = 'int' } }")
        try session.run(
            "store:write(function() for i = 1, 8 do store:create('Dog', { id = i, name = 'n' .. i, age = i * 10 }) end end)"
        )
        return session
    }

    @Test func `The values before and after are shown, and yes applies the change`() throws {
        let session = try Self.session()
        try session.run("store:define { Dog = { '...', friend = 'Dog' } }")
        try session.run(
            "store:write(function() store:object('Dog', 7).friend = { id = 9, name = 'n9', age = 90 } end)"
        )
        session.terminal.type(
            "store:define { Dog = { id = 'int primary', age = 'string' } } print 'continues'\r")
        try session.terminal.wait(for: "the question") { screen in
            let lines = screen.lines.map { $0.split(separator: " ").joined(separator: " ") }
            return lines.last == "apply the change and lose these values? y/n"
                && lines.contains("'Dog.name' would be removed, with its values")
                && lines.contains("Dog id = 1 \"n1\" (removed)")
                && lines.contains("'Dog.age' would change from int to string")
                && lines.contains("Dog id = 2 20 \"20\"") && lines.contains("5 of 9 objects")
                && lines.contains("Dog id = 7 Dog id = 9 (removed)")
        }
        // Any answer other than yes or no repeats the question.
        session.terminal.type("perhaps\r")
        try session.terminal.wait(for: "the question again") { screen in
            screen.lines.filter { $0.hasPrefix("apply the change") }.count == 2
                && screen.lines.last?.hasSuffix("y/n") == true
        }
        session.terminal.type("y\r")
        try session.terminal.wait(for: "the rest of the entry") { $0.lines.contains("continues") }
        #expect(try session.run("store:objects('Dog')[3].age").contains("\"30\""))
        #expect(try session.end() == 0)
    }

    @Test(arguments: ["n\r", Key.interrupt, Key.end])
    func `No, Ctrl-C and Ctrl-D leave the data unchanged`(_ keys: String) throws {
        let session = try Self.session()
        session.terminal.type("store:define { Dog = { id = 'int primary', name = 'string' } }\r")
        try session.terminal.wait(for: "the question") {
            $0.lines.last?.hasSuffix("y/n") == true && session.terminal.hasReadKeys
        }
        session.terminal.type(keys)
        try session.terminal.wait(forText: "the schema needs a migration")
        #expect(try session.run("store:objects('Dog')[3].age").contains("30"))
        #expect(try session.end() == 0)
    }

    @Test func `Without a terminal, a loss is refused`() throws {
        let session = try TestSession()
        _ = try session.run("store:define { Dog = { age = 'int' } }")
        #expect(
            try session.run("store:define { Dog = { age = 'string' } }").contains(
                "the schema needs a migration"))
    }

    @Test(arguments: [
        ("store:define { Dog = {} }", "store:define ({ Dog = {} }, { force = true })"),
        ("zoo:define({ Dog = {} })", "zoo:define({ Dog = {} }, { force = true })"),
        ("change()", "change()"),
    ]) func `A saved session repeats the change without asking`(
        _ entry: String, _ code: String
    ) throws {
        let session = try TestSession()
        let text = try session.with { session in
            session.steps = [SessionStep("forced", entry)]
            return session.savedScript
        }
        #expect(text == code + "\n")
    }
}
