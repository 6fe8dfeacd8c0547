import Foundation
import TestSupport
import Testing

@testable import REPL

private typealias Key = PseudoTerminal.Key

/// The number of matches beside a typed query, the size of results, and details of completions.
@Suite(.serialized) struct MatchCountTests {
    private static let kennel = """
        store:define { Dog = { name = 'string', age = 'int' } }
        store:write(function() for i = 1, 10 do store:create('Dog', { name = 'd' .. i, age = i }) end end)
        old = store:objects('Dog'):where('age > 5') local dogs = store:objects 'Dog'
        """

    @Test func `The matches of an unfinished query are counted`() throws {
        let session = try TestSession()
        _ = try session.run(Self.kennel)
        for (text, hint) in [
            ("store:objects('Dog'):where('age > 7", "3 of 10 Dog"),
            ("print(#store:objects \"Dog\":where(\"age > 7 or age == 1", "4 of 10 Dog"),
            ("old:where 'age < 8", "2 of 5 Dog"), ("dogs:where('name == \"d3\"", "1 of 10 Dog"),
            (".watch Dog where age > 9", "1 of 10 Dog"),
            (".explain Dog where age > 9", "1 of 10 Dog"),
            ("local x = 1\nreturn dogs:where('age >= 1", "10 of 10 Dog"),
        ] {
            #expect(try session.with { $0.matchHint(for: text) } == hint, "\(text)")
        }
        for text in [
            "dogs:where('age >", "dogs:where('", "dogs:where('nothing > 1", "dogs:where('age > $1",
            "x.old:where('age > 1", "f():where('age > 1", "store:objects('Cat'):where('a > 1",
            "dogs:where('age > 1')", ".watch Dog", "'where", "-- dogs:where('age > 1",
        ] {
            #expect(try session.with { $0.matchHint(for: text) } == nil, "\(text)")
        }
    }

    @Test func `Slow counts are omitted`() throws {
        let session = try TestSession()
        func allows(_ objects: Int64) throws -> Bool? {
            try session.with {
                let answer = try? $0.module.file("completion")["can_count"].function?
                    .call([.integer(objects)])
                return answer?.first?.isTruthy
            }
        }
        func record(_ microseconds: Int64) throws {
            try session.with {
                _ = try? $0.module.file("completion")["note_count"].function?
                    .call([.integer(100_000), .integer(microseconds)])
            }
        }
        #expect(try allows(100_000) == true && allows(10_000_000) == false)
        try record(1_000)
        #expect(try allows(1_000_000) == true)
        try record(100_000)
        #expect(try allows(100_000) == false && allows(10_000) == true)
    }

    @Test func `The count follows the typed text and disappears`() throws {
        let session = try TerminalSession(columns: 80, environment: ["NO_COLOR": ""])
        for line in Self.kennel.split(separator: "\n") { try session.run(String(line)) }
        session.terminal.type("dogs:where('age > 7")
        try session.terminal.wait(for: "the count") {
            $0.lines.last?.hasSuffix("dogs:where('age > 7  3 of 10 Dog") == true
        }
        session.terminal.type(" or age == 1")
        try session.terminal.wait(for: "the next count") {
            $0.lines.last?.hasSuffix("> 7 or age == 1  4 of 10 Dog") == true
        }
        session.terminal.type("'):count()")
        try session.terminal.wait(for: "no count") {
            $0.lines.last?.hasSuffix("age == 1'):count()") == true
        }
        session.terminal.type(Key.enter)
        try session.terminal.wait(for: "the result and its number") { screen in
            screen.lines.contains { $0.hasPrefix("4 ") && $0.hasSuffix(" _1") }
        }
        #expect(try session.end() == 0)
    }

    @Test func `Results are numbered at the right edge`() {
        let style = Style.plain
        #expect(ResultLabel.adding(3, to: "42", columns: 10, style: style).hasSuffix("     _3"))
        let table = "a wide line\nend"
        let labeled = ResultLabel.adding(12, to: table, columns: 12, style: style)
        #expect(labeled.hasPrefix("a wide line\nend") && labeled.hasSuffix(" _12"))
        #expect(ResultLabel.removing(from: Style.rendered(labeled + "\nmore")) == table + "\nmore")
        #expect(ResultLabel.adding(1, to: "too wide", columns: 10, style: style) == "too wide")
    }

    @Test func `Completions show types and numbers of objects`() throws {
        let session = try TestSession()
        _ = try session.run(Self.kennel)
        func details(_ text: String) throws -> [String: String] {
            try session.with { $0.completion(of: text)?.details ?? [:] }
        }
        #expect(try details("store:objects('") == ["Dog": "10 objects"])
        #expect(try details("dogs:where('") == ["age": "int", "name": "string"])
        #expect(try details("dogs[1].na") == ["name": "string"])
        let listing = try #require(
            try session.with { $0.completion(of: "dogs:where('")?.listing(columns: 80) })
        #expect(listing.contains("age   int"))
    }

    @Test func `The history shows the script and the process of each version`() throws {
        let first = try TerminalSession(columns: 100)
        let path = first.folder.path + "/zoo.moonpool"
        try first.run(
            "zoo = moonpool.open { path = '\(path)', schema = { Dog = { name = 'string' } } }")
        try first.run("zoo:write(function() zoo:create('Dog', { name = 'Rex' }) end)")
        #expect(try first.end() == 0)
        let script = try first.folder.write(
            """
            local zoo = moonpool.open '\(path)'
            zoo:write(function() zoo:create('Dog', { name = 'Fido' }) end)
            """, to: "writer.lua")
        let writer = try PseudoTerminal()
        try writer.start(TerminalSession.program, [script], environment: [:])
        #expect(try writer.exitCode() == 0)
        let second = try TerminalSession(
            [path], columns: 100, folder: first.folder, environment: ["TERM": "dumb"])
        second.terminal.type(".history\r")
        try second.terminal.wait(for: "the writers") { screen in
            screen.lines.contains {
                $0.contains(/writer \([0-9]+\) +\+1 Dog/)
            } && screen.lines.contains { $0.contains(/repl \([0-9]+\) +\+1 Dog/) }
        }
        second.terminal.type(Key.end)
        #expect(try second.terminal.exitCode() == 0)
    }
}
