import Foundation
import FoundationXML
import TestSupport
import TestThreads
import Testing

@testable import REPL

/// The drawings of the prompt: schemas, charts, and pictures of results and sessions.
@Suite struct PictureTests {
    private static let schema =
        """
        store:define { Dog = { id = "int primary", name = "string", age = "int?", owner = "Person", toys = "Toy[]" },
          Person = { name = "string primary", dogs = "backlinks Dog.owner" }, Toy = { name = "string" } }
        """
    private static let data =
        """
        store:write(function() for i = 1, 30 do
          store:create("Dog", { id = i, name = "d" .. i % 3, age = i % 7 }) end end)
        """

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func session(columns: Int, rows: Int = 60) throws -> TestSession {
        let session = try TestSession(columns: columns, rows: rows)
        _ = try session.run(Self.schema)
        _ = try session.run(Self.data)
        return session
    }

    private func document(_ name: String) throws -> String {
        let text = try folder.read(name)
        if name.hasSuffix(".svg") { #expect(XMLParser(data: Data(text.utf8)).parse(), "\(name)") }
        return text
    }

    @Test(arguments: [60, 120]) func `charts and schemas fit the window`(_ columns: Int) throws {
        let session = try session(columns: columns)
        for entry in [
            ".schema", "store:objects('Dog'):plot('id', 'age')",
            "store:objects('Dog'):plot('name', 'age', { by = 'name' })",
            "store:objects('Dog'):histogram 'age'", "store:objects('Dog'):group_by 'name'",
        ] {
            let lines = try session.run(entry).split(separator: "\n")
            #expect(lines.count > 3 && lines.allSatisfy { $0.count < columns }, "\(entry) \(lines)")
        }
        let schema = try session.run(".schema")
        #expect(schema.contains("╭─ Dog 30 ") && schema.contains("╭─ Person 0 "))
        #expect(schema.contains("← Dog.owner"))
    }

    @Test func `.once writes the next result as a picture`() throws {
        let session = try session(columns: 80)
        let path = folder.path
        #expect(try session.run(".once \(path)/plot.svg") == "")
        #expect(try session.run("store:objects('Dog'):plot('id', 'age')") == "")
        #expect(try document("plot.svg").contains("<circle"))
        _ = try session.run(".once \(path)/schema.svg")
        #expect(try session.run(".schema") == "")
        #expect(try document("schema.svg").contains(">backlinks") == false)
        #expect(try document("schema.svg").contains(">Person</text>"))
        _ = try session.run(".once \(path)/rows.svg")
        _ = try session.run("store:objects('Dog')")
        #expect(try document("rows.svg").contains(">id</text>"))
        _ = try session.run(".once \(path)/rows.html")
        _ = try session.run("'<b>'")
        #expect(try document("rows.html").contains("&quot;&lt;b&gt;&quot;"))
        // The next result is shown on the screen again.
        #expect(try session.run("1 + 1") == "2")
        #expect(try session.run(".output \(path)/a.svg").contains("use .once"))
        #expect(try session.run(".once \(path)/none/a.svg").hasPrefix("cannot write"))
    }

    @Test func `.once to a text file writes the output of one command`() throws {
        let session = try session(columns: 80)
        _ = try session.run(".once \(folder.path)/classes.txt")
        #expect(try session.run(".classes") == "")
        #expect(try document("classes.txt").contains("Person"))
        #expect(try session.run("1 + 1") == "2")
    }

    @Test(arguments: ["svg", "html"]) func `a transcript becomes a picture`(_ format: String) throws
    {
        let terminal = try TerminalSession(
            columns: 80, rows: 30, environment: ["NO_COLOR": "", "TERM": "xterm-256color"])
        let file = terminal.folder.file("session.\(format)")
        try terminal.run(".transcript \(file)")
        try terminal.run("local n = 20 -- a <comment>")
        try terminal.run("'<b>' .. n")
        try terminal.run("nothing.here")
        try terminal.run(".transcript")
        let text = try terminal.folder.read("session.\(format)")
        if format == "svg" { #expect(XMLParser(data: Data(text.utf8)).parse()) }
        #expect(text.contains("a &lt;comment&gt;"))
        #expect(text.contains("&quot;&lt;b&gt;20&quot;"))
        #expect(text.contains("attempt to index"))
        #expect(text.contains("store") && text.contains("#d2a8ff"), "keywords have a color")
    }

    @Test(arguments: [["TERM": "dumb"], ["NO_COLOR": "1"]])
    func `charts do not need colors`(_ environment: [String: String]) throws {
        let terminal = try TerminalSession(columns: 80, rows: 50, environment: environment)
        try terminal.run("store:define { Dog = { id = 'int primary', age = 'int' } }")
        try terminal.run(
            "store:write(function() for i = 1, 9 do store:create('Dog', { i, i * i }) end end)")
        let lines = try terminal.run("store:objects('Dog'):plot('id', 'age')")
        #expect(lines.contains { $0.contains("┤") } && lines.contains { $0.contains("└") })
        #expect(!String(decoding: terminal.terminal.transcript, as: UTF8.self).contains("\u{1B}[3"))
    }

    @Test func `pictures of a terminal keep columns, colors and styles`() {
        let text = "\u{1B}[1mid\u{1B}[0m  日本\u{1B}[2;9;31m x\u{1B}[0m\ttab\n"
        let picture = TerminalPicture(text: text, columns: 80)
        let svg = picture.document(.svg)
        #expect(XMLParser(data: Data(svg.utf8)).parse())
        #expect(svg.contains("font-weight=\"700\">id<"))
        #expect(svg.contains("text-decoration=\"line-through\"> x<"))
        #expect(picture.document(.html).contains("text-decoration:line-through\"> x</span>"))
    }
}
