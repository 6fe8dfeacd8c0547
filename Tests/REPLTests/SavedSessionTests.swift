import EventLoops
import Foundation
import TestThreads
import Testing

@testable import REPL

@Suite struct SavedSessionTests {
    private static func saved(_ session: TestSession) throws -> String {
        try session.with { $0.savedScript }
    }

    @Test func `A saved session prints the values of its expressions`() throws {
        let session = try TestSession()
        for entry in ["a = 2", "a + 1", "return a -- two", "b = 4; b"] {
            _ = try session.run(entry)
        }
        #expect(
            try Self.saved(session).hasSuffix(
                """
                a = 2
                print(moonpool.inspect(a + 1))
                print(moonpool.inspect(
                a -- two
                ))
                b = 4;
                print(moonpool.inspect(b))

                """))
        _ = try session.run("_2 * 2")
        #expect(
            try Self.saved(session).hasSuffix(
                """
                a = 2
                print(moonpool.inspect(a + 1))
                _2 = a -- two
                print(moonpool.inspect(_2))
                b = 4;
                print(moonpool.inspect(b))
                print(moonpool.inspect(_2 * 2))

                """))
    }

    @Test func `A saved session prints the output of the prompt`() throws {
        let folder = try TemporaryFolder()
        let session = try TestSession()
        let entries = [
            "store:define { Dog = { name = 'string', age = 'int?' } }",
            "local name = 'Rex'", "return name -- a comment", "a = 5; a, 'x'",
            "_ + _2", ".begin", "store:create('Dog', { name = name })", ".commit",
            "nothing.x", "#store:objects 'Dog'", "store:objects('Dog')[1].name",
            "if a == 5 then return 'five' end", "(function() return 1 end)()",
            "local n = 4 return n, n + 1;",
            "n", "return", "function f() return 3 end", "f()",
        ]
        var shown = ""
        for entry in entries {
            let text = try session.run(entry)
            if !entry.hasPrefix("."), entry != "nothing.x", !text.isEmpty { shown += text + "\n" }
        }
        let file = folder.file("saved.lua")
        #expect(try session.run(".save \(file)").contains("run it with: moonpool \(file)"))
        let named = folder.file("it's one.lua")
        let quoted = named.replacingOccurrences(of: "'", with: "'\\''")
        for path in [named, "\"\(named)\""] {
            #expect(try session.run(".save \(path)").hasSuffix("run it with: moonpool '\(quoted)'"))
        }
        let text = try folder.read("saved.lua")
        #expect(text.contains("store:begin_write()  -- .begin\n"))
        #expect(text.contains("-- failed: nothing.x\n"))
        // Both sessions would share the in-memory store.
        _ = try session.run("store:close()")
        let again = try TestSession()
        let loaded = try again.run(".load \(file)") + "\n"
        #expect(loaded == shown, "\(text)")
    }

    @Test func `A saved session with observers ends its event loop`() throws {
        let session = try TestSession()
        _ = try session.run("store:define { Dog = { name = 'string' } }")
        #expect(try !Self.saved(session).contains("moonpool.stop()"))
        _ = try session.run("token = store:objects('Dog'):observe(print)")
        #expect(try Self.saved(session).hasSuffix(" moonpool.stop()\n"))
    }

    @Test func `A saved session restores the version that the session restored`() throws {
        let session = try TestSession()
        _ = try session.run("store:define { Dog = { id = 'int primary' } }")
        for id in 1...3 {
            _ = try session.run("store:write(function() store:create('Dog', { \(id) }) end)")
        }
        let version = try #require(Int(session.run("store.version"))) - 2
        for entry in [".undo \(version)", ".redo", ".undo"] { _ = try session.run(entry) }
        #expect(
            try Self.saved(session).hasSuffix(
                """
                store:undo(\(version))  -- .undo \(version)
                store:redo()  -- .redo
                store:undo()  -- .undo

                """))
    }

    @Test func `Calls of help do nothing in a saved session`() throws {
        let session = try TestSession()
        _ = try session.run("help(moonpool.open)")
        _ = try session.run("function explain() help('where') end")
        let text = try Self.saved(session)
        #expect(text.hasPrefix("help = help or function() end\n"), "\(text)")
        let plain = try TestSession()
        _ = try plain.run("1 + 1")
        #expect(try !Self.saved(plain).contains("help"))
    }

    @Test func `Sections print as a table of counts with bars`() throws {
        let session = try TestSession()
        _ = try session.run("store:define { Dog = { age = 'int' } }")
        _ = try session.run(
            "store:write(function() for i = 1, 6 do store:create('Dog', { age = i < 5 and 1 or 2 }) end end)"
        )
        let text = try session.run("store:objects('Dog'):group_by('age')")
        let lines = text.split(separator: "\n")
        #expect(lines.first?.split(separator: " ") == ["age", "count"], "\(text)")
        #expect(lines.contains { $0.contains("4") && $0.contains("████████████████████") })
        #expect(lines.contains { $0.contains("2") && $0.hasSuffix("██████████") })
    }

    @Test func `Live expressions become effects that print their values`() throws {
        let folder = try TemporaryFolder()
        let session = try TestSession()
        for entry in [
            "store:define { Dog = { name = 'string' } }", "local dogs = store:objects 'Dog'",
            ".live #dogs -- the number", ".live dogs:count(), dogs:first()", ".live off 2",
            "store:write(function() store:create('Dog', { name = 'Rex' }) end)",
        ] {
            _ = try session.run(entry)
        }
        // The test session has opened its store before the first entry.
        let text = "store = moonpool.open { in_memory = '\(UUID())' }\n" + (try Self.saved(session))
        let file = try folder.write(text, to: "saved.lua")
        #expect(text.hasSuffix(" moonpool.stop()\n"))
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: TerminalSession.program)
        process.arguments = [file]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(
            output.hasPrefix(
                """
                [live 1] #dogs -- the number = 0
                [live 2] dogs:count(), dogs:first() = 0, nil

                """), "\(output)\n\(text)")
        #expect(process.terminationStatus == 0)
    }
}
